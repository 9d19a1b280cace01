import type { Finding } from '../connection/wire';
import { isMarked } from './marks';

export interface Line {
  /** Of the file; null where a line of the excerpt is not one of the file. */
  number: number | null;
  text: string;
}

/** The lines of an excerpt. The log of a session is JSON: its lines are not those that are shown. */
export function linesOf(finding: Finding): Line[] {
  const numbered = 'path' in finding;
  const lines = finding.excerpt.replace(/\r?\n$/, '').split(/\r?\n/);
  return lines.map((text, at) => ({ number: numbered ? finding.start + at : null, text }));
}

/** The lines that are shown first: `most`, and two more rather than a button for them. They begin at the top, or shortly before the first matched word. */
export function glance(lines: readonly Line[], words: readonly string[], most: number): readonly Line[] {
  if (lines.length <= most + 2) return lines;
  const first = lines.findIndex(({ text }) => isMarked(text, words));
  const from = first < most ? 0 : Math.min(first - 3, lines.length - most);
  return lines.slice(from, from + most);
}

/** The last line of the file that an excerpt had no room for; null where it is whole. */
export function cutAt(finding: Finding, lines: readonly Line[]): number | null {
  const last = lines.at(-1)?.number ?? null;
  return last !== null && last < finding.end ? last : null;
}
