/** Where the pages of a source begin, between its lines and not part of its text. */
import type { Extension } from '@codemirror/state';
import { Decoration, EditorView, WidgetType } from '@codemirror/view';

/** Roughly, in pixels, for pages that are not drawn yet. */
const HEIGHT = 45;

class PageMark extends WidgetType {
  constructor(private readonly label: string) {
    super();
  }

  override get estimatedHeight(): number {
    return HEIGHT;
  }

  override eq({ label }: PageMark): boolean {
    return label === this.label;
  }

  override toDOM(): HTMLElement {
    const mark = document.createElement('div');
    mark.className = 'cm-page';
    mark.setAttribute('role', 'separator');
    mark.setAttribute('aria-label', this.label);
    mark.textContent = this.label;
    return mark;
  }
}

export function pageMarks(pages: () => readonly number[], labelOf: (page: number) => string): Extension {
  return EditorView.decorations.compute(['doc'], ({ doc }) => {
    const marks = pages().map((at, index) => {
      // Empty pages at the end stand after the last line.
      const side = at > 0 && at === doc.length ? 1 : -1;
      return Decoration.widget({ widget: new PageMark(labelOf(index + 1)), block: true, side }).range(at);
    });
    return Decoration.set(marks);
  });
}
