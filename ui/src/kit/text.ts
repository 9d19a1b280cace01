export interface Part {
  text: string;
  mark: boolean;
}

/** Short words are marked only as whole words; otherwise half of a text would be. */
const SHORT = /^[\w]{1,3}$/;

/** Splits a text at the given words, ignoring case, width and Unicode normal form. */
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

/** At most 80 characters of a line, with its line break: less than any phone screen shows. */
const PIECE = /[^\n]{1,80}\n?|\n/gu;

/** Cuts a text into pieces that each fit on a screen. Joined, they are the text again. */
export function pieces(text: string): string[] {
  return text.match(PIECE) ?? [];
}

/** Invisible and reordering characters and all spaces except U+0020, as in `visible.rs`. */
const UNSEEN =
  /[\p{C}\p{Z}\u{34f}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{2800}\u{3164}\u{fe00}-\u{fe0e}\u{ffa0}\u{e0100}-\u{e01ef}]/gu;

/** Escapes them, as `\u{202e}`, so that text from files cannot look like other text. Keeps line breaks and tabs. */
export function plain(text: string): string {
  return text.replace(UNSEEN, (character) =>
    ' \n\t'.includes(character) ? character : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

// Text as it is compared: the same in every normal form of Unicode, width and case, with straight quotes and hyphens. The
// bridge folds in the same way (`crates/core/src/terms/fold.rs`).

/** A character with its marks, or the parts of a Hangul syllable. */
const CLUSTER = /\P{M}[\p{M}\u1160-\u11ff\uff9e\uff9f]*|\p{M}+/gu;
const ASCII = /^[\x00-\x7f]*$/;
/** Characters that are not shown and only modify others. */
const MODIFIERS = /[\u00ad\u200b-\u200f\u2060-\u2064\ufe00-\ufe0f\ufeff]/g;
const STRAIGHT: Readonly<Record<string, string>> = {
  '\u2018': "'",
  '\u2019': "'",
  '\u201b': "'",
  '\u02bc': "'",
  '\u201c': '"',
  '\u201d': '"',
  '\u201f': '"',
  '\u2212': '-',
  İ: 'I',
};

export function fold(text: string): string {
  return ASCII.test(text) ? text.toLowerCase().replace(/\s+/g, ' ') : new FoldedText(text).text;
}

/** A folded text that maps back to its source. */
class FoldedText {
  readonly text: string;
  /** Source offsets of each code unit. */
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];

  constructor(source: string) {
    let text = '';
    for (const { 0: cluster, index } of source.matchAll(CLUSTER)) {
      const blank = cluster !== '\ufeff' && /^\s$/u.test(cluster);
      if (blank && text.endsWith(' ')) continue;
      const part = blank ? ' ' : folded(cluster);
      for (let at = 0; at < part.length; at += 1) {
        this.#starts.push(index);
        this.#ends.push(index + cluster.length);
      }
      text += part;
    }
    this.text = text;
  }

  /** The source range of a range of the text. */
  source(start: number, end: number): [number, number] {
    const from = this.#starts[start] ?? 0;
    return [from, end > start ? (this.#ends[end - 1] ?? from) : from];
  }
}

function folded(cluster: string): string {
  if (cluster.length === 1 && cluster < '\u0080') return cluster.toLowerCase();
  const straight = cluster
    .normalize('NFKC')
    .replace(MODIFIERS, '')
    .replace(/[\u2018\u2019\u201b\u02bc\u201c\u201d\u201f\u2212İ]/g, (letter) => STRAIGHT[letter] ?? letter);
  return straight
    .replace(/[\u2010-\u2015]/g, '-')
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFC');
}

/** A search text, compared without case, width and Unicode normal form. */
export class TextPattern {
  readonly #wanted: string;
  readonly #plain: RegExp | null;

  constructor(query: string) {
    this.#wanted = fold(query);
    const escaped = this.#wanted.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '\\s+');
    this.#plain = ASCII.test(this.#wanted) ? new RegExp(escaped, 'gi') : null;
  }

  /** The ranges of all occurrences in a text. */
  ranges(text: string): [number, number][] {
    if (this.#wanted === '') return [];
    // Folding leaves ASCII as it is.
    if (ASCII.test(text))
      return this.#plain === null
        ? []
        : [...text.matchAll(this.#plain)].map(({ 0: found, index }) => [index, index + found.length]);
    const source = new FoldedText(text);
    const ranges: [number, number][] = [];
    for (
      let at = source.text.indexOf(this.#wanted);
      at !== -1;
      at = source.text.indexOf(this.#wanted, at + this.#wanted.length)
    ) {
      const end = at + this.#wanted.length;
      // A mark belongs to its letter.
      if (!/^[\p{Mn}\p{Me}]/u.test(source.text.slice(end, end + 2)) || /^[\p{Mn}\p{Me}]/u.test(this.#wanted))
        ranges.push(source.source(at, end));
    }
    return ranges;
  }
}
