export interface Part {
  text: string;
  mark: boolean;
}

/** Words so short are marked only where they stand alone, or half of the code would be. */
const SHORT = /^[\w]{1,3}$/;

/** The words that a reason names in backticks. */
export function matchedWords(why: string): string[] {
  return [...new Set([...why.matchAll(/`([^`]+)`/g)].flatMap(([, word]) => word ?? []))];
}

/** Splits a text where one of the words stands, whatever its case. */
export function marked(text: string, words: readonly string[]): Part[] {
  if (words.length === 0) return [{ text, mark: false }];
  // The longest first: an alternative that begins another one would win over it.
  const patterns = [...words].sort((a, b) => b.length - a.length).map(pattern);
  // What is captured stands at every odd place.
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
