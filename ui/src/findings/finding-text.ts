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

/** The card that a key moves to, of those that are shown; null outside the list. */
export function walk(key: string, at: number, shown: readonly number[]): number | null {
  const place = shown.indexOf(at);
  const to = shown.at({ ArrowDown: place + 1, ArrowUp: Math.max(place - 1, 0), Home: 0, End: -1 }[key] ?? place);
  return to === undefined || to === at ? null : to;
}

/** Folders that tell two versions of the same code apart, such as `redis/client.py` and `redis/asyncio/client.py`. */
const VERSION = /^_?(?:(?<async>async|asyncio|aio|blocking)|sync)(?:_impl)?$/;

/** A finding as it is drawn. */
export interface Card {
  /** Index of the finding. */
  at: number;
  /** The same symbol in other versions of the file. */
  twins: readonly number[];
  /** Much weaker than the ones before, so folded. */
  weaker: boolean;
  /** The card before is of the same file. */
  continues: boolean;
}

/** The findings as they are drawn: each file where its best finding is, weaker ones at the end. */
export function cardsOf(findings: readonly Finding[]): Card[] {
  const others = twins(findings);
  const folded = new Set([...others.values()].flat());
  const from = weakerFrom(findings);
  const byFile = new Map<string, Card[]>();
  findings.forEach((finding, at) => {
    if (folded.has(at)) return;
    const weaker = at >= from;
    const key = JSON.stringify('path' in finding ? [weaker, finding.path] : [at]);
    const cards = byFile.get(key) ?? [];
    cards.push({ at, twins: others.get(at) ?? [], weaker, continues: cards.length > 0 });
    byFile.set(key, cards);
  });
  return [...byFile.values()].flat();
}

/** The findings that show the same symbol in the other version of a file, by the first one's index. */
function twins(findings: readonly Finding[]): Map<number, number[]> {
  const alike = new Map<string, number[]>();
  findings.forEach((finding, at) => {
    if (!('path' in finding) || finding.symbol === undefined) return;
    const place = finding.path.split('/').filter((part) => !VERSION.test(part));
    const key = JSON.stringify([place, finding.symbol, finding.kind]);
    alike.set(key, [...(alike.get(key) ?? []), at]);
  });
  const pathsOf = (group: readonly number[]): string[] =>
    group.flatMap((at) => {
      const finding = findings[at];
      return finding !== undefined && 'path' in finding ? [finding.path] : [];
    });
  const isAsync = (path: string): boolean =>
    path.split('/').some((part) => VERSION.exec(part)?.groups?.['async'] !== undefined);
  const groups = [...alike.values()].filter((group) => {
    const paths = pathsOf(group);
    // A symbol that a file has twice may be two different ones.
    return new Set(paths).size === paths.length && paths.some(isAsync);
  });
  return new Map(
    groups.flatMap(([first, ...others]) => (first === undefined || others.length === 0 ? [] : [[first, others]])),
  );
}

/** Findings that are always shown. */
const SURE = 3;
/** A finding with at most this share of the lowest score before it begins the weaker ones. */
const GAP = 0.5;

/** The index from which findings are much weaker than those before; the number of findings if none are. */
function weakerFrom(findings: readonly Finding[]): number {
  const isGap = (_: Finding, at: number): boolean => {
    const least = GAP * Math.min(...findings.slice(0, at).map(({ score }) => score));
    return at >= SURE && at < findings.length - 1 && findings.slice(at).every(({ score }) => score <= least);
  };
  const at = findings.findIndex(isGap);
  return at === -1 ? findings.length : at;
}
