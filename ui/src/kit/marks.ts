import { fold, FoldedText } from './folded';

export interface Part {
  text: string;
  mark: boolean;
}

/** Short words are marked only as whole words, or half of a text would be. */
const SHORT = /^[\w]{1,3}$/;

/** Splits a text at the given words, whatever their case, width and normal form. */
export function marked(text: string, words: readonly string[]): Part[] {
  const wanted = words.map(fold).filter((word) => word.trim() !== '');
  if (wanted.length === 0) return [{ text, mark: false }];
  // Longest first: a shorter alternative with the same prefix would win otherwise.
  const patterns = wanted.sort((a, b) => b.length - a.length).map(pattern);
  const folded = new FoldedText(text);
  const parts: Part[] = [];
  let last = 0;
  for (const { 0: found, index } of folded.text.matchAll(new RegExp(patterns.join('|'), 'gu'))) {
    const [start, end] = folded.source(index, index + found.length);
    if (start < last) continue;
    parts.push({ text: text.slice(last, start), mark: false }, { text: text.slice(start, end), mark: true });
    last = end;
  }
  parts.push({ text: text.slice(last), mark: false });
  return parts.filter((part) => part.text !== '');
}

export function isMarked(text: string, words: readonly string[]): boolean {
  return marked(text, words).some(({ mark }) => mark);
}

function pattern(word: string): string {
  const escaped = word.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  return SHORT.test(word) ? `(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])` : escaped;
}
