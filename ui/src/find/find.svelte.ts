import type { Row } from '../session/rows';
import { Found, Scan, type Hit, type Place } from './matches';

/** Milliseconds between searches of changing rows, and without a key press before a log is searched. */
const PAUSE = 150;

/** The log of a session whose rows may be partly loaded. */
export interface Log {
  /** The first and last loaded line; null if everything is loaded. */
  range(): readonly [number, number] | null;
  /** All lines with a text; null if only the rows can be searched. */
  lines(query: string): Promise<{ lines: readonly number[]; more: boolean } | null>;
  /** Loads the rows around a line and resolves with the key of its row. */
  seek(line: number): Promise<string | null>;
}

interface Searched {
  rows: readonly Row[];
  log: Log | null;
  /** The first row on screen. */
  top: () => number;
}

/** Finds a text in the open session. */
export class Find {
  open = $state(false);
  query = $state('');
  found = $state.raw(Found.NOTHING);
  /** Index of the current match; -1 without one. */
  position = $state(-1);
  /** A search is running. */
  busy = $state(false);
  /** Incremented to focus the field. */
  asked = $state(0);
  /** The match to go to; a new object each time. */
  target = $state.raw<{ place: Place } | null>(null);

  #searched: Searched | null = null;
  #scan = new Scan('');
  #hits: readonly Hit[] = [];
  #log: { lines: readonly number[]; more: boolean } = { lines: [], more: false };
  #place: Place | null = null;
  #run = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading: ReturnType<typeof setTimeout> | undefined;
  #readsLog = false;
  #counting = false;
  #opener: HTMLElement | null = null;

  /** Key of the row with the current match. */
  get row(): string | null {
    const place = this.position === -1 ? undefined : this.found.at(this.position);
    return place !== undefined && 'key' in place ? place.key : null;
  }

  show(): void {
    if (!this.open) this.#opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
    this.open = true;
    this.asked += 1;
  }

  /** Closes the bar; returns the element that had the focus before. */
  close(): HTMLElement | null {
    const opener = this.#opener;
    this.open = false;
    this.#opener = null;
    this.#forget();
    return opener?.isConnected === true && opener !== document.body ? opener : null;
  }

  /** The searched rows changed. */
  search(searched: Searched): void {
    const again = this.#searched?.log !== searched.log && this.#scan.query === this.query;
    this.#searched = searched;
    if (this.query === '') return this.#forget();
    if (this.#scan.query !== this.query) {
      this.#begin();
      this.#later(0);
    } else if (again) {
      this.#readLog();
    } else if (this.#timer === undefined) {
      this.#later(PAUSE);
    }
  }

  step(by: 1 | -1): void {
    const { total } = this.found;
    if (total === 0) return;
    this.#go(this.position === -1 ? 0 : (this.position + by + total) % total);
  }

  /** The rows around a line are loaded; the match is in this row. */
  arrived(key: string): void {
    this.#place = { key, nth: 0 };
    this.target = { place: this.#place };
    this.#later(0);
  }

  #begin(): void {
    this.#forget();
    this.#scan = new Scan(this.query);
    this.busy = true;
    this.#readLog();
  }

  #forget(): void {
    this.#run += 1;
    clearTimeout(this.#timer);
    clearTimeout(this.#reading);
    this.#timer = undefined;
    this.#scan = new Scan('');
    this.#hits = [];
    this.#log = { lines: [], more: false };
    this.#place = null;
    this.#readsLog = false;
    this.#counting = false;
    this.found = Found.NOTHING;
    this.position = -1;
    this.target = null;
    this.busy = false;
  }

  #later(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      void this.#count();
    }, ms);
  }

  async #count(): Promise<void> {
    const run = (this.#run += 1);
    const stale = (): boolean => run !== this.#run;
    this.#counting = true;
    const hits = await this.#scan.hits(this.#searched?.rows ?? [], stale);
    if (hits === null || stale()) return;
    this.#counting = false;
    this.#hits = hits;
    this.#publish();
  }

  #readLog(): void {
    const log = this.#searched?.log ?? null;
    clearTimeout(this.#reading);
    if (log === null || log.range() === null) return;
    this.#readsLog = true;
    const { query } = this;
    this.#reading = setTimeout(() => {
      void log.lines(query).then((lines) => {
        if (query !== this.#scan.query || log !== this.#searched?.log) return;
        this.#readsLog = false;
        this.#log = lines ?? { lines: [], more: false };
        this.#publish();
      });
    }, PAUSE);
  }

  #publish(): void {
    const range = this.#searched?.log?.range() ?? null;
    const lines = range === null ? [] : this.#log.lines;
    this.found = new Found(
      lines.filter((line) => line < (range?.[0] ?? 0)),
      this.#hits,
      lines.filter((line) => line > (range?.[1] ?? 0)),
      range !== null && this.#log.more,
    );
    this.busy = this.#readsLog || this.#counting;
    if (this.#place !== null) this.position = this.#near(this.#place);
    // A log that is still being searched may have nearer matches.
    else if (this.#hits.length > 0 || !this.busy) this.#go(this.found.from(this.#searched?.top() ?? 0));
  }

  /** The position of a match, or of the next one if it is gone. */
  #near(place: Place): number {
    const position = this.found.positionOf(place);
    if (position !== -1 || 'line' in place) return position;
    return this.found.from(this.#searched?.rows.findIndex(({ key }) => key === place.key) ?? 0);
  }

  #go(position: number): void {
    const place = this.found.at(position);
    this.position = place === undefined ? -1 : position;
    this.#place = place ?? null;
    this.target = place === undefined ? null : { place };
  }
}
