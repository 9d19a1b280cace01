export interface Part {
  text: string;
  mark: boolean;
}

/** Short words are marked only as whole words, or half of a text would be. */
const SHORT = /^[\w]{1,3}$/;

/** Splits a text at the given words, ignoring case. */
export function marked(text: string, words: readonly string[]): Part[] {
  if (words.length === 0) return [{ text, mark: false }];
  // Longest first: a shorter alternative with the same prefix would win otherwise.
  const patterns = [...words].sort((a, b) => b.length - a.length).map(pattern);
  // Captured parts are at odd indices.
  const parts = text.split(new RegExp(`(${patterns.join('|')})`, 'giu'));
  return parts.map((part, at) => ({ text: part, mark: at % 2 === 1 })).filter((part) => part.text !== '');
}

export function isMarked(text: string, words: readonly string[]): boolean {
  return marked(text, words).some(({ mark }) => mark);
}

function pattern(word: string): string {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return SHORT.test(word) ? `(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])` : escaped;
}
