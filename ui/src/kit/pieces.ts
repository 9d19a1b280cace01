/** A line of at most 80 characters, which is less than the screen of any phone shows, with its line break. */
const PIECE = /[^\n]{1,80}\n?|\n/gu;

/** Cuts a text into pieces that are small enough to be on screen as a whole. Joined they are the text. */
export function pieces(text: string): string[] {
  return text.match(PIECE) ?? [];
}
