/**
 * Control, direction and zero-width characters, made visible: a person approves what they see.
 * The list is `tests/unit/core/invisible.json`; the terminal uses the same one.
 */
const INVISIBLE =
  /[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{34f}\u{600}-\u{605}\u{61c}\u{6dd}\u{70f}\u{890}-\u{891}\u{8e2}\u{115f}-\u{1160}\u{17b4}-\u{17b5}\u{180e}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{3164}\u{fe00}-\u{fe0d}\u{feff}\u{ffa0}\u{fff9}-\u{fffb}\u{110bd}\u{110cd}\u{13430}-\u{13438}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]/gu;

/** The text with each invisible character written as its code, such as ⟨U+202E⟩. */
export function reveal(text: string): string {
  return text.replace(INVISIBLE, (found) => `⟨U+${found.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`);
}
