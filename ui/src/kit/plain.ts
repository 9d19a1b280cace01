/** Characters that reorder others or are invisible, except tabs and line breaks. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Escapes such characters, as `\u{202e}`, so that text from files cannot pass for other text. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (character) => `\\u{${character.charCodeAt(0).toString(16)}}`);
}
