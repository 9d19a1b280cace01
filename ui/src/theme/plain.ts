/** Characters that change the order in which others are drawn, or that are not drawn at all; tabs and line breaks are drawn. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Spells such characters out, `\u{202e}`, so that text from files cannot look like other text. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}
