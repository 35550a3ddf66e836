/** Sources that are passages of the person's own documents: their address names the document and its bytes. */
export interface DocumentSource {
  file: string;
  /** SHA-256 of the document's whole text. */
  version: string;
  /** Bytes of its UTF-8 text. */
  start: number;
  end: number;
}

const ADDRESS = /^document:([^?#]+)\?version=([0-9a-f]{64})#bytes=(\d{1,12})-(\d{1,12})$/;

/** The passage that an address names; null for other addresses. */
export function documentOf(url: string): DocumentSource | null {
  const [, file, version, start, end] = ADDRESS.exec(url) ?? [];
  if (file === undefined || version === undefined) return null;
  try {
    return { file: decodeURIComponent(file), version, start: Number(start), end: Number(end) };
  } catch {
    return null;
  }
}
