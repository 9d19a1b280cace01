/** Characters that are invisible or reorder others, and every space but the usual one: as `escaped` in `visible.rs`. */
const UNSEEN =
  /[\p{C}\p{Z}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{2800}\u{3164}\u{fe00}-\u{fe0e}\u{ffa0}\u{e0100}-\u{e01ef}]/gu;

/** Escapes such characters, as `\u{202e}`, so that text from files cannot pass for other text. Line breaks and tabs stay. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (character) =>
    ' \n\t'.includes(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}
