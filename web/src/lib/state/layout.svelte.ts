/** What is open: the sidebar, the panel, the theme, the page. Kept between visits. */
import { readStoredJson, writeStored } from '$lib/browser-storage';

export type Theme = 'light' | 'dark' | 'system';

const STORED = 'bathysphere.layout';
const PHONE = '(max-width: 759px)';
const NARROW = '(max-width: 1179px)';

interface Stored {
  theme: Theme;
  sidebar: boolean;
  aside: boolean;
  panel: string;
}

export class Layout {
  #theme = $state<Theme>('system');
  #systemIsDark = $state(false);
  #isPhone = $state(false);
  #isNarrow = $state(false);
  #sidebar = $state(true);
  #aside = $state(true);
  /** On a phone one column is seen at a time. */
  #column = $state<'threads' | 'chat' | 'panels'>('chat');
  #panel = $state('plan');
  #help = $state(false);

  constructor() {
    const stored = read();
    this.#theme = stored.theme ?? 'system';
    this.#panel = stored.panel ?? 'plan';
    this.#watch(PHONE, (matches) => (this.#isPhone = matches));
    this.#watch(NARROW, (matches) => (this.#isNarrow = matches));
    this.#watch('(prefers-color-scheme: dark)', (matches) => (this.#systemIsDark = matches));
    this.#sidebar = stored.sidebar ?? true;
    this.#aside = !this.#isNarrow && (stored.aside ?? true);
  }

  readonly isDark = $derived(this.#theme === 'dark' || (this.#theme === 'system' && this.#systemIsDark));

  get theme(): Theme {
    return this.#theme;
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

  toggleAside(open = !this.aside): void {
    if (this.#isPhone) this.#column = open ? 'panels' : 'chat';
    else this.#aside = open;
    this.#save();
  }

  /** Show a panel by its id. */
  show(panel: string): void {
    this.#panel = panel;
    this.toggleAside(true);
  }

  /** Go to the conversation, where another column hides it. */
  showChat(): void {
    this.#column = 'chat';
  }

  #watch(query: string, set: (matches: boolean) => void): void {
    const list = matchMedia(query);
    set(list.matches);
    list.addEventListener('change', () => set(list.matches));
  }

  #save(): void {
    const stored: Stored = {
      theme: this.#theme,
      sidebar: this.#sidebar,
      aside: this.#aside,
      panel: this.#panel,
    };
    writeStored(STORED, JSON.stringify(stored));
  }
}

function read(): Partial<Stored> {
  return (readStoredJson(STORED) ?? {});
}
