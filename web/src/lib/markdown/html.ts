/**
 * Markdown to HTML that is safe to show: what a model writes is data.
 *
 * No picture is fetched (its address could carry what the person said), no style, no form, no
 * script; links open elsewhere, tell nothing of where they were, and name the host they lead to.
 */
import '@fontsource-variable/source-serif-4/wght.css';
import '@fontsource-variable/source-serif-4/wght-italic.css';
import '$lib/styles/reading.css';
import DOMPurify from 'dompurify';
import { Marked, type Tokens } from 'marked';
import { reveal } from '$lib/invisible';
import { text } from '$lib/text';
import { formulas } from './formulas';
import { foreignHost } from './links';

const TAGS = [
  'a', 'b', 'blockquote', 'br', 'code', 'del', 'div', 'em', 'h3', 'h4', 'h5', 'h6', 'hr', 'i', 'input', 'kbd', 'li',
  'mark', 'ol', 'p', 'pre', 's', 'span', 'strong', 'sub', 'sup', 'table', 'tbody', 'td', 'th', 'thead', 'tr', 'ul',
];
const ATTRIBUTES = ['align', 'checked', 'class', 'colspan', 'disabled', 'href', 'rel', 'rowspan', 'start', 'tabindex', 'target', 'title', 'type'];
const PLAIN_TAG = /^<\/?(?:b|br|del|em|i|kbd|mark|s|strong|sub|sup)\s*\/?>$/i;
const NUMBER = /^[-+−±~≈<>]? ?[$€£]?\d[\d.,'\u00a0\u202f ]*(?:%|[\p{L}°µ²³/]{1,8})?$/u;
const NOTHING = /^(?:|[-–—]|n\/a)$/i;
const SAFE_ADDRESS = /^(?:https?:|mailto:|#)/i;

const marked = new Marked({ gfm: true, breaks: false });
marked.use({
  extensions: formulas,
  renderer: {
    heading({ tokens, depth }: Tokens.Heading): string {
      const level = Math.min(6, depth + 2); // the page and the speaker have the first two
      return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>`;
    },
    /** Plain tags of formatting are kept; any other HTML is shown as the text it is. */
    html({ text: raw }: Tokens.HTML | Tokens.Tag): string {
      return raw.replace(/<[^>]*>?|>/g, (tag) => (PLAIN_TAG.test(tag) ? tag : escape(tag)));
    },
    image({ href, text: words }: Tokens.Image): string {
      const label = escape(words || text.chat.image);
      return linked(href, label);
    },
    link({ href, tokens }: Tokens.Link): string {
      return linked(href, reveal(this.parser.parseInline(tokens)));
    },
    table(token: Tokens.Table): string {
      const aligns = alignsOf(token);
      const cell = (tag: string, at: number, words: string) => `<${tag}${aligns[at] ? ` align="${aligns[at]}"` : ''}>${words}</${tag}>`;
      const row = (cells: Tokens.TableCell[], tag: string) =>
        `<tr>${cells.map(({ tokens }, at) => cell(tag, at, this.parser.parseInline(tokens))).join('')}</tr>`;
      const body = token.rows.map((cells) => row(cells, 'td')).join('');
      return `<div class="grid"><div class="table" tabindex="0"><table><thead>${row(token.header, 'th')}</thead><tbody>${body}</tbody></table></div></div>`;
    },
  },
});

const purify = DOMPurify(window);
purify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'A') {
    if (!SAFE_ADDRESS.test(node.getAttribute('href') ?? '')) node.removeAttribute('href');
    node.setAttribute('target', '_blank');
    node.setAttribute('rel', 'noopener noreferrer nofollow');
  }
  if (node.tagName === 'INPUT') {
    if (node.getAttribute('type') === 'checkbox') node.setAttribute('disabled', '');
    else node.remove();
  }
});

export function render(markdown: string): string {
  const html = marked.parse(markdown, { async: false });
  return purify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ALLOW_DATA_ATTR: false });
}

/** As the table says; where it says nothing, numbers stand under one another. */
function alignsOf({ header, rows }: Tokens.Table): (string | null)[] {
  return header.map(({ align }, at) => {
    const words = rows.map((cells) => (cells[at]?.text ?? '').replaceAll('*', '').trim()).filter((word) => !NOTHING.test(word));
    return align ?? (words.length && words.every((word) => NUMBER.test(word)) ? 'right' : null);
  });
}

/** A link; where its words do not name the host it leads to, the host stands beside them. */
function linked(href: string, label: string): string {
  if (!SAFE_ADDRESS.test(href)) return label;
  const host = foreignHost(href);
  const beside = host && !label.includes(host) ? `<span class="host">${escape(host)}</span>` : '';
  return `<a href="${escape(href)}">${label}</a>${beside}`;
}

function escape(words: string): string {
  return words.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/"/g, '&quot;');
}
