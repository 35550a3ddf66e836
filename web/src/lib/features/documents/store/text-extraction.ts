/** The text of a file that the person dropped; nothing is uploaded. Readers are fetched when needed. */
import { DocumentError, MAX_CHARACTERS } from './documents';
import { errorText } from './errors.text';
import { joinPages } from './pages';
import { unpackedSize } from './zip';

const MAX_BYTES = 50_000_000;
const MAX_UNPACKED = 100_000_000;
const DOCX_MS = 20_000;
const PLAIN = /\.(txt|md|markdown|text|rst|org|tex|adoc|argdown|csv|tsv|json|ya?ml|log|html?)$/i;

export interface Extracted {
  title: string;
  text: string;
  /** What a reader got out of another format is a source and is not changed. */
  isSource: boolean;
  /** Where each page begins in the text, if it has pages. */
  pages?: number[];
}

export async function extract(file: File): Promise<Extracted> {
  if (file.size > MAX_BYTES) throw new DocumentError(errorText.tooLarge(file.name, MAX_BYTES));
  if (/\.pdf$/i.test(file.name) || file.type === 'application/pdf') return source(file, joinPages(await pdfPages(file)));
  if (/\.docx$/i.test(file.name)) return source(file, { text: (await docxText(file)).replaceAll('\0', '').trim() });
  if (!PLAIN.test(file.name) && !file.type.startsWith('text/')) {
    throw new DocumentError(errorText.otherType(file.name));
  }
  const text = plain(await file.arrayBuffer(), file.name);
  return { title: file.name, text, isSource: false };
}

function plain(bytes: ArrayBuffer, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    const text = new TextDecoder('windows-1252').decode(bytes);
    if (text.includes('\0')) throw new DocumentError(errorText.noText(name));
    return text;
  }
}

function source(file: File, found: Pick<Extracted, 'text' | 'pages'>): Extracted {
  if (found.text === '') throw new DocumentError(errorText.empty(file.name));
  if (found.text.length > MAX_CHARACTERS) throw new DocumentError(errorText.tooLong(file.name, MAX_CHARACTERS));
  return { title: file.name, isSource: true, ...found };
}

async function pdfPages(file: File): Promise<string[]> {
  const [pdfjs, { default: worker }] = await Promise.all([
    import('pdfjs-dist'),
    import('pdfjs-dist/build/pdf.worker.min.mjs?url'),
  ]);
  pdfjs.GlobalWorkerOptions.workerSrc = worker;
  const loading = pdfjs.getDocument({ data: await file.arrayBuffer(), useSystemFonts: false, disableFontFace: true });
  try {
    const pdf = await loading.promise;
    const pages: string[] = [];
    for (let number = 1; number <= pdf.numPages; number += 1) {
      const { items } = await (await pdf.getPage(number)).getTextContent();
      pages.push(items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : '')).join(''));
    }
    return pages;
  } catch (error) {
    throw new DocumentError(errorText.unreadable(file.name, error instanceof Error ? error.message : ''));
  } finally {
    await loading.destroy();
  }
}

async function docxText(file: File): Promise<string> {
  const bytes = await file.arrayBuffer();
  const size = unpackedSize(bytes);
  if (size === null) throw new DocumentError(errorText.unreadableDocx(file.name));
  if (size > MAX_UNPACKED) throw new DocumentError(errorText.unpacked(file.name, MAX_UNPACKED));
  const text = await readDocx(bytes);
  if (text === null) throw new DocumentError(errorText.unreadableDocx(file.name));
  return text;
}

/** The text of a DOCX file; null where it is damaged, or takes too long to read. */
function readDocx(bytes: ArrayBuffer): Promise<string | null> {
  const worker = new Worker(new URL('./docx-worker.ts', import.meta.url), { type: 'module' });
  return new Promise<string | null>((resolve) => {
    setTimeout(() => resolve(null), DOCX_MS);
    worker.onmessage = ({ data }: MessageEvent<{ text: string | null }>) => resolve(data.text);
    worker.onerror = () => resolve(null);
    worker.postMessage(bytes, [bytes]);
  }).finally(() => worker.terminate());
}
