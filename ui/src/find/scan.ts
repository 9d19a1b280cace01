import { TextPattern } from '../kit/folded';
import type { Row } from '../timeline/rows';
import { countInRow, type Hit } from './matches';

/** Milliseconds of work between two rests: a frame stays a frame. */
const SLICE = 8;

/** Counts a query's occurrences in rows, in slices. Rows that were counted before are not read again. */
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

  /** Resolves with null once `stale` says that the result is no longer needed. */
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
