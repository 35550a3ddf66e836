/** Reads a DOCX file off the page's thread, where it can be stopped. */
import mammoth from 'mammoth';

addEventListener('message', ({ data }: MessageEvent<ArrayBuffer>) => {
  mammoth.extractRawText({ arrayBuffer: data }).then(
    ({ value }) => postMessage({ text: value }),
    () => postMessage({ text: null }),
  );
});
