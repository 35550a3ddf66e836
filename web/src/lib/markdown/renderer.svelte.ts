/** The renderer of Markdown, fetched when there is something to read: the first page has nothing. */
type Render = (markdown: string) => string;

let render = $state.raw<Render | null>(null);
let loading: Promise<void> | null = null;

/** Ahead of the first words, so that they need not be drawn twice. */
export function loadRenderer(): Promise<void> {
  loading ??= import('./html').then(
    (html) => {
      render = html.render;
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
