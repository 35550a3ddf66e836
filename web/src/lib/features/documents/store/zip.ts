/** How large a ZIP archive becomes: a small file can unpack to more than a browser can hold. */
const END = 0x06054b50;
const ENTRY = 0x02014b50;
const END_BYTES = 22;
const ENTRY_BYTES = 46;
const COMMENT_BYTES = 0xffff;

/** The unpacked sizes that the archive declares, added up; null where it is not an archive. */
export function unpackedSize(bytes: ArrayBuffer): number | null {
  const view = new DataView(bytes);
  const end = endOf(view);
  if (end === null) return null;
  let at = view.getUint32(end + 16, true);
  let total = 0;
  for (let left = view.getUint16(end + 10, true); left > 0; left -= 1) {
    if (at + ENTRY_BYTES > view.byteLength || view.getUint32(at, true) !== ENTRY) return null;
    total += view.getUint32(at + 24, true);
    at += ENTRY_BYTES + view.getUint16(at + 28, true) + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
  }
  return total;
}

function endOf(view: DataView): number | null {
  const last = view.byteLength - END_BYTES;
  for (let at = last; at >= Math.max(0, last - COMMENT_BYTES); at -= 1) {
    if (view.getUint32(at, true) === END) return at;
  }
  return null;
}
