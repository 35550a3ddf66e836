/**
 * CodeMirror, set up for prose: Markdown, history, search, wrapped lines. Fetched when first shown.
 *
 * It lives in a shadow root: there it keeps its styles in sheets, which the page's policy allows,
 * and not in style elements, which it refuses.
 */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { markdown } from '@codemirror/lang-markdown';
import { syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { Annotation, EditorState } from '@codemirror/state';
import { drawSelection, EditorView, keymap } from '@codemirror/view';
import { lineDirection } from './line-direction';
import { pageMarks } from './page-marks';
import { look, marks } from './theme';

export interface Editor {
  load: (text: string) => void;
  show: (start: number, end: number) => void;
  destroy: () => void;
}

interface Options {
  text: string;
  label: string;
  isReadOnly: boolean;
  /** Where the pages of the text begin. */
  pages: () => readonly number[];
  pageLabel: (page: number) => string;
  ontype: (text: string) => void;
}

const outside = Annotation.define<boolean>();

export function createEditor(parent: HTMLElement, { text, label, isReadOnly, pages, pageLabel, ontype }: Options): Editor {
  const view = new EditorView({
    parent: parent.shadowRoot ?? parent.attachShadow({ mode: 'open' }),
    state: EditorState.create({
      doc: text,
      extensions: [
        // Line ends stay as they are: a version is made from every letter.
        EditorState.lineSeparator.of(text.includes('\r\n') ? '\r\n' : '\n'),
        EditorState.readOnly.of(isReadOnly),
        history(),
        drawSelection(),
        highlightSelectionMatches(),
        keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap]),
        markdown(),
        syntaxHighlighting(marks),
        look,
        EditorView.lineWrapping,
        lineDirection,
        pageMarks(pages, pageLabel),
        EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'true', tabindex: '0' }),
        EditorView.updateListener.of((update) => {
          const isTyped = update.transactions.some((change) => change.docChanged && !change.annotation(outside));
          if (isTyped) ontype(update.state.sliceDoc());
        }),
      ],
    }),
  });
  const separator = text.includes('\r\n') ? 2 : 1;
  /** A place in the text, where CodeMirror counts every line end as one. */
  const placeOf = (whole: string, at: number) =>
    separator === 1 ? at : at - (whole.slice(0, at).match(/\r\n/g)?.length ?? 0);

  return {
    load(next) {
      if (view.state.sliceDoc() === next) return;
      const insert = view.state.toText(next);
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert }, annotations: outside.of(true) });
    },
    show(start, end) {
      const whole = view.state.sliceDoc();
      const limit = (at: number) => Math.min(placeOf(whole, at), view.state.doc.length);
      const selection = { anchor: limit(start), head: limit(end) };
      view.dispatch({ selection, effects: EditorView.scrollIntoView(selection.anchor, { y: 'center' }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}
