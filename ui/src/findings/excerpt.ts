import type { Finding } from '../connection/wire';
import { isMarked } from '../kit/marks';

export interface Line {
  /** Line number in the file; null if the excerpt is not from a file. */
  number: number | null;
  text: string;
}

/** The lines of an excerpt. A session's log is JSON, so its line numbers do not apply. */
export function linesOf(finding: Finding): Line[] {
  const numbered = 'path' in finding;
  const lines = finding.excerpt.replace(/\r?\n$/, '').split(/\r?\n/);
  return lines.map((text, at) => ({ number: numbered ? finding.start + at : null, text }));
}

/** The lines shown at first: `most`, or up to two more instead of a button. They begin at the top or just before the first matched word. */
export function glance(lines: readonly Line[], words: readonly string[], most: number): readonly Line[] {
  if (lines.length <= most + 2) return lines;
  const first = lines.findIndex(({ text }) => isMarked(text, words));
  const from = first < most ? 0 : Math.min(first - 3, lines.length - most);
  return lines.slice(from, from + most);
}

/** The last file line that fits in a cut excerpt; null if it is whole. */
export function cutAt(finding: Finding, lines: readonly Line[]): number | null {
  const last = lines.at(-1)?.number ?? null;
  return last !== null && last < finding.end ? last : null;
}
