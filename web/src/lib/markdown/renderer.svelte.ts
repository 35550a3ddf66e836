/** The renderer of Markdown and the reading face, fetched when there is something to read: the first page has nothing. */
const READING = "1em 'Source Serif 4 Variable'";
type Render = (markdown: string) => string;

let render = $state.raw<Render | null>(null);
let loading: Promise<void> | null = null;

/** Ahead of the first words, so that they need not be drawn twice. */
export function loadRenderer(): Promise<void> {
  loading ??= import('./html').then(
    (html) => {
      render = html.render;
      document.fonts?.load(READING).catch(() => undefined); // before there are words in it; offline others stand in
    },
    () => {
      loading = null; // the next block tries again; until then it is shown as plain text
    },
  );
  return loading;
}

/** Markdown as HTML that is safe to show; null until the renderer is here. */
export function rendered(markdown: string): string | null {
  if (!render) void loadRenderer();
  return render?.(markdown) ?? null;
}
