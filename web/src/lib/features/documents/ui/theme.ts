/** How the editor looks, by the names of the design, so that it follows light and dark. */
import { HighlightStyle } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export const look = EditorView.theme({
  '&': { height: '100%', background: 'var(--surface)', color: 'var(--ink)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    padding: 'var(--s4) var(--s4) var(--s7)',
    font: 'var(--text-read) / 1.65 var(--font-read)',
    scrollbarWidth: 'thin',
    scrollbarColor: 'var(--line-strong) transparent',
  },
  '.cm-content': { maxWidth: 'var(--measure)', margin: '0 auto', padding: '0', caretColor: 'var(--accent)' },
  '.cm-line': { padding: '0' },
  '.cm-page': {
    display: 'flex',
    gap: 'var(--s3)',
    alignItems: 'center',
    padding: 'var(--s3) 0',
    color: 'var(--ink-faint)',
    font: 'var(--text-xs) / 1.5 var(--font)',
    userSelect: 'none',
  },
  '.cm-page::before, .cm-page::after': { flex: '1', borderTop: '1px solid var(--line)', content: '""' },
  '.cm-cursor': { borderLeft: '2px solid var(--accent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'var(--accent-soft)',
  },
  '.cm-selectionMatch': { background: 'var(--warn-soft)' },
  '.cm-searchMatch': { background: 'var(--warn-soft)', outline: '1px solid var(--warn-line)' },
  '.cm-searchMatch-selected': { background: 'var(--warn-line)' },
  '.cm-panels': { borderColor: 'var(--line)', background: 'var(--sunken)', color: 'var(--ink)', font: 'var(--text-s) var(--font)' },
  '.cm-textfield': { border: '1px solid var(--line-strong)', borderRadius: 'var(--radius-s)', background: 'var(--surface)', color: 'inherit' },
  '.cm-button': { border: '1px solid var(--line-strong)', borderRadius: 'var(--radius-s)', background: 'var(--surface)', color: 'inherit' },
});

export const marks = HighlightStyle.define([
  { tag: tags.heading1, fontSize: '1.35em', fontWeight: '650' },
  { tag: tags.heading2, fontSize: '1.2em', fontWeight: '650' },
  { tag: tags.heading, fontWeight: '650' },
  { tag: tags.strong, fontWeight: '650' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: tags.strikethrough, textDecoration: 'line-through' },
  { tag: [tags.link, tags.url], color: 'var(--accent)' },
  { tag: tags.monospace, fontFamily: 'var(--font-code)', fontSize: '0.92em' },
  { tag: tags.quote, color: 'var(--ink-soft)', fontStyle: 'italic' },
  { tag: [tags.processingInstruction, tags.contentSeparator], color: 'var(--ink-faint)' },
]);
