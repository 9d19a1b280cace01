import { TextPattern } from '../kit/text';
import type { Row } from '../session/rows';
import { fieldsOf, type Fold } from './row-text';

export function countIn(text: string, pattern: TextPattern): number {
  return pattern.ranges(text).length;
}

/** A row with matches. */
export interface Hit {
  key: string;
  index: number;
  count: number;
}

export function countInRow(row: Row, pattern: TextPattern): number {
  return fieldsOf(row).reduce((sum, { text }) => sum + countIn(text, pattern), 0);
}

/** The parts to unfold to show a match. */
export function foldsAround(row: Row, pattern: TextPattern, nth: number): readonly Fold[] {
  let before = 0;
  for (const { text, folds } of fieldsOf(row)) {
    before += countIn(text, pattern);
    if (nth < before) return folds;
  }
  return [];
}

/** A match in a row, or in a log line that is not loaded. */
export type Place = { key: string; nth: number } | { line: number };

/** All matches in order: lines above the rows, the rows, lines below. */
export class Found {
  static readonly NOTHING = new Found([], [], [], false);

  readonly total: number;
  /** More lines match than are listed. */
  readonly more: boolean;
  readonly #above: readonly number[];
  readonly #hits: readonly Hit[];
  readonly #below: readonly number[];
  /** The number of matches before each hit. */
  readonly #starts: number[] = [];

  constructor(above: readonly number[], hits: readonly Hit[], below: readonly number[], more: boolean) {
    this.#above = above;
    this.#hits = hits;
    this.#below = below;
    this.more = more;
    let start = above.length;
    for (const { count } of hits) {
      this.#starts.push(start);
      start += count;
    }
    this.total = start + below.length;
  }

  /** The match at a position from 0. */
  at(position: number): Place | undefined {
    const line = this.#above[position] ?? this.#below[position - (this.total - this.#below.length)];
    if (line !== undefined) return { line };
    const hit = this.#starts.findLastIndex((start) => start <= position);
    const [found, start] = [this.#hits[hit], this.#starts[hit]];
    return found === undefined || start === undefined || position - start >= found.count
      ? undefined
      : { key: found.key, nth: position - start };
  }

  /** The position of a match or of the nearest one in its row; -1 if the row has none. */
  positionOf(place: Place): number {
    if ('line' in place) {
      const above = this.#above.indexOf(place.line);
      const below = this.#below.indexOf(place.line);
      return above !== -1 ? above : below === -1 ? -1 : this.total - this.#below.length + below;
    }
    const hit = this.#hits.findIndex(({ key }) => key === place.key);
    const [found, start] = [this.#hits[hit], this.#starts[hit]];
    return found === undefined || start === undefined ? -1 : start + Math.min(place.nth, found.count - 1);
  }

  /** The first match in or below a row; otherwise the first of all. */
  from(index: number): number {
    if (this.total === 0) return -1;
    const hit = this.#hits.findIndex((known) => known.index >= index);
    if (hit !== -1) return this.#starts[hit] ?? 0;
    return this.#below.length > 0 ? this.total - this.#below.length : 0;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  #known: Set<string> | undefined;
  get #keys(): Set<string> {
    return (this.#known ??= new Set(this.#hits.map(({ key }) => key)));
  }
}

/** Milliseconds of work between two pauses, within one frame. */
const SLICE = 8;

/** Counts a query's matches in rows, in slices. Caches the count of each row. */
export class Scan {
  readonly query: string;
  readonly #pattern: TextPattern;
  readonly #counts = new WeakMap<Row, number>();
  readonly #rest: () => Promise<void>;
  readonly #now: () => number;

  constructor(query: string, rest: () => Promise<void> = rested, now: () => number = () => performance.now()) {
    this.query = query;
    this.#pattern = new TextPattern(query);
    this.#rest = rest;
    this.#now = now;
  }

  /** Resolves with null once `stale` returns true. */
  async hits(rows: readonly Row[], stale: () => boolean): Promise<Hit[] | null> {
    const found: Hit[] = [];
    let until = this.#now() + SLICE;
    for (const [index, row] of rows.entries()) {
      let count = this.#counts.get(row);
      if (count === undefined) {
        count = countInRow(row, this.#pattern);
        this.#counts.set(row, count);
      }
      if (count > 0) found.push({ key: row.key, index, count });
      if (this.#now() < until) continue;
      await this.#rest();
      if (stale()) return null;
      until = this.#now() + SLICE;
    }
    return found;
  }
}

/** Lets the browser draw and take input. */
function rested(): Promise<void> {
  return new Promise((after) => setTimeout(after));
}
