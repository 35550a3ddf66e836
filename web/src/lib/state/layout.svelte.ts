/** What is open: the sidebar, the panel, the theme, the page. Kept between visits. */
import { readStoredJson, writeStored } from '$lib/browser-storage';

export type Theme = 'light' | 'dark' | 'system';
export type TextSize = 'normal' | 'large';

const STORED = 'bathysphere.layout';
/** The panel with the person's own documents. */
const DOCUMENTS = 'documents';
const PHONE = '(max-width: 759px)';
const NARROW = '(max-width: 1179px)';

interface Stored {
  theme: Theme;
  textSize: TextSize;
  sidebar: boolean;
  /** Whether the person opened or closed the panel; null until they did either. */
  panels: boolean | null;
  panel: string;
}

export class Layout {
  #theme = $state<Theme>('system');
  #textSize = $state<TextSize>('normal');
  #systemIsDark = $state(false);
  #isPhone = $state(false);
  #isNarrow = $state(false);
  #sidebar = $state(true);
  #aside = $state(false);
  /** What the person did with the panel last. */
  #choice: boolean | null = null;
  /** The person chose what the panel shows in this conversation: nothing new takes its place. */
  #isPinned = false;
  #news = $state(false);
  /** On a phone one column is seen at a time. */
  #column = $state<'threads' | 'chat' | 'panels'>('chat');
  #panel = $state('plan');
  #help = $state(false);

  constructor() {
    const stored = read();
    this.#theme = stored.theme ?? 'system';
    this.#textSize = stored.textSize ?? 'normal';
    this.#panel = stored.panel ?? 'plan';
    this.#watch(PHONE, (matches) => (this.#isPhone = matches));
    this.#watch(NARROW, (matches) => (this.#isNarrow = matches));
    this.#watch('(prefers-color-scheme: dark)', (matches) => (this.#systemIsDark = matches));
    this.#sidebar = stored.sidebar ?? true;
    this.#choice = stored.panels ?? null;
  }

  readonly isDark = $derived(this.#theme === 'dark' || (this.#theme === 'system' && this.#systemIsDark));

  get theme(): Theme {
    return this.#theme;
  }

  get textSize(): TextSize {
    return this.#textSize;
  }

  setTextSize(textSize: TextSize): void {
    this.#textSize = textSize;
    this.#save();
  }

  get isPhone(): boolean {
    return this.#isPhone;
  }

  get isNarrow(): boolean {
    return this.#isNarrow;
  }

  get sidebar(): boolean {
    return this.#isPhone ? this.#column === 'threads' : this.#sidebar;
  }

  get aside(): boolean {
    return this.#isPhone ? this.#column === 'panels' : this.#aside;
  }

  get panel(): string {
    return this.#panel;
  }

  /** Something appeared in the panel while it was closed. */
  get news(): boolean {
    return this.#news;
  }

  get help(): boolean {
    return this.#help;
  }

  showHelp(open: boolean): void {
    this.#help = open;
  }

  setTheme(theme: Theme): void {
    this.#theme = theme;
    this.#save();
  }

  toggleSidebar(open = !this.sidebar): void {
    if (this.#isPhone) this.#column = open ? 'threads' : 'chat';
    else this.#sidebar = open;
    this.#save();
  }

  /** The person opens or closes the panel, which is remembered. */
  toggleAside(open = !this.aside): void {
    this.#setAside(open);
    if (!this.#isPhone) this.#choice = open;
    this.#save();
  }

  /** Show a panel by its id, because the person asked for what is in it. */
  show(panel: string): void {
    this.#panel = panel;
    this.#isPinned = true;
    this.#setAside(true);
    this.#save();
  }

  /** Something appeared in a panel: open it there, unless the person decided otherwise. */
  appear(panel: string): void {
    if (!this.#isPinned) this.#panel = panel;
    const isRoomy = !this.#isPhone && !this.#isNarrow;
    if (isRoomy && this.#choice !== false) this.#setAside(true);
    else this.#news = !this.aside;
  }

  /** Another conversation is shown. In a new one only the person's own documents are worth a panel. */
  settle({ isNew }: { isNew: boolean }): void {
    this.#isPinned = false;
    this.#news = false;
    this.#aside = this.#choice === true && !this.#isNarrow && (!isNew || this.#panel === DOCUMENTS);
  }

  /** Go to the conversation, where another column hides it. */
  showChat(): void {
    this.#column = 'chat';
  }

  #setAside(open: boolean): void {
    if (this.#isPhone) this.#column = open ? 'panels' : 'chat';
    else this.#aside = open;
    if (open) this.#news = false;
  }

  #watch(query: string, set: (matches: boolean) => void): void {
    const list = matchMedia(query);
    set(list.matches);
    list.addEventListener('change', () => set(list.matches));
  }

  #save(): void {
    const stored: Stored = {
      theme: this.#theme,
      textSize: this.#textSize,
      sidebar: this.#sidebar,
      panels: this.#choice,
      panel: this.#panel,
    };
    writeStored(STORED, JSON.stringify(stored));
  }
}

function read(): Partial<Stored> {
  return (readStoredJson(STORED) ?? {});
}
