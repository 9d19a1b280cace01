import type { Finding, Findings } from '../connection/wire';
import { isMarked } from '../kit/text';
import { plural } from '../words/amounts';
import { locationOf } from '../words/places';

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

/** What the best finding says: its symbol, where it is and what it does; empty if it defines nothing. */
export function answerOf(finding: Finding | undefined): string {
  if (finding?.kind !== 'definition' || finding.symbol === undefined || !('path' in finding)) return '';
  const about = finding.about === undefined ? '' : `: ${finding.about}`;
  return `\`${finding.symbol}\` in \`${locationOf(finding)}\`${about}`;
}

/** The first line of an excerpt with one of the words; the first line without one. */
export function pointOf(finding: Finding): string {
  const words = matchedWords(finding.why);
  const lines = linesOf(finding).filter(({ text }) => text.trim() !== '');
  return (lines.find(({ text }) => isMarked(text, words)) ?? lines[0])?.text.trim() ?? '';
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
  const numbers = finding.lines ?? [];
  const lines = finding.excerpt.replace(/\r?\n$/, '').split(/\r?\n/);
  const numberOf = (at: number) => (numbers.length === 0 ? finding.start + at : numbers[at]);
  // 0 marks omitted lines.
  return lines.map((text, at) => ({ number: (numbered && numberOf(at)) || null, text }));
}

/** The lines shown at first: `most`, or up to two more to avoid a button. An excerpt begins with what matters. */
export function glance(lines: readonly Line[], most: number): readonly Line[] {
  return lines.length <= most + 2 ? lines : lines.slice(0, most);
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
