import type { Finding, Findings } from '../connection/wire';
import { isMarked } from '../kit/text';
import { plural } from '../words/amounts';

/** `Nothing found for “expiry”`: the search terms come from the plain text of the message. */
export function emptyTitle(text: string): string {
  const asked = /^\*\*Found:\*\* nothing for (.+?)(?:; |\.?$)/m.exec(text)?.[1];
  return asked === undefined ? 'Nothing found' : `Nothing found for ${asked}`;
}

/** `3 places in 2 files and 1 session` */
export function countWords({ findings }: Findings): string {
  const places = findings.filter((finding) => 'path' in finding);
  const files = new Set(places.map(({ path }) => path)).size;
  const sessions = findings.length - places.length;
  return [
    ...(places.length === 0
      ? []
      : [
          places.length === files
            ? plural(files, 'file')
            : `${plural(places.length, 'place')} in ${plural(files, 'file')}`,
        ]),
    ...(sessions === 0 ? [] : [plural(sessions, 'session')]),
  ].join(' and ');
}

export function matchedWords(why: string): string[] {
  return [...new Set([...why.matchAll(/`([^`]+)`/g)].flatMap(([, word]) => word ?? []))];
}

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

/** The lines shown at first: `most`, or up to two more to avoid a button, from the top or just before the first match. */
export function glance(lines: readonly Line[], words: readonly string[], most: number): readonly Line[] {
  if (lines.length <= most + 2) return lines;
  const first = lines.findIndex(({ text }) => isMarked(text, words));
  const from = first < most ? 0 : Math.min(first - 3, lines.length - most);
  return lines.slice(from, from + most);
}

/** The last file line in a cut excerpt; null if it is complete. */
export function cutAt(finding: Finding, lines: readonly Line[]): number | null {
  const last = lines.at(-1)?.number ?? null;
  return last !== null && last < finding.end ? last : null;
}

/** The card that a key moves to; null outside the list. */
export function walk(key: string, at: number, count: number): number | null {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: count - 1 }[key];
  return to === undefined || to === at || to < 0 || to >= count ? null : to;
}
