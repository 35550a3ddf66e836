/** Each line of the editor is read from the side on which its own words begin. */
import { RangeSetBuilder } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from '@codemirror/view';

const byItsWords = Decoration.line({ attributes: { dir: 'auto' } });

function linesInView({ state, visibleRanges }: EditorView): DecorationSet {
  const lines = new RangeSetBuilder<Decoration>();
  for (const { from, to } of visibleRanges) {
    for (let line = state.doc.lineAt(from); ; line = state.doc.line(line.number + 1)) {
      lines.add(line.from, line.from, byItsWords);
      if (line.to >= to) break;
    }
  }
  return lines.finish();
}

class LinesInView {
  lines: DecorationSet;

  constructor(view: EditorView) {
    this.lines = linesInView(view);
  }

  update({ docChanged, viewportChanged, view }: ViewUpdate) {
    if (docChanged || viewportChanged) this.lines = linesInView(view);
  }
}

export const lineDirection = [
  EditorView.perLineTextDirection.of(true),
  ViewPlugin.fromClass(LinesInView, { decorations: ({ lines }) => lines }),
];
