import type { ListSessionsResponse } from '@agentclientprotocol/sdk';
import type { Link } from '../connection/link.svelte';
import { openagents } from '../connection/protocol';
import type { SessionInfo, SessionMeta } from '../connection/wire';

/** A row of the sidebar. */
export interface SessionItem {
  id: string;
  title: string;
  cwd: string;
  updatedAt: number;
  running: boolean;
  /** The number of pending questions. */
  waiting: number;
  pinned?: boolean;
  archived?: boolean;
}

interface Meanwhile {
  items: Map<string, SessionItem>;
  removed: Set<string>;
}

/** The number of `session/list` pages loaded up front. */
const PAGES = 5;

/** The sessions of this bridge, as the sidebar lists them. */
export class SessionList {
  /** Newest first. */
  items = $state.raw<readonly SessionItem[]>([]);
  /** The list is loaded. */
  complete = $state(false);
  more = $state(false);
  /** All sessions changed since this time are loaded; milliseconds since the epoch. */
  reached = $state(-Infinity);

  readonly #link: Link;
  /** Numbers the loads; only the newest counts. */
  #read = 0;
  /** The number of loaded pages and the cursor of the next one. */
  #pages = 0;
  #next: string | null = null;
  /** Changes that arrive during a load. */
  #changes: Meanwhile | null = null;

  constructor(link: Link) {
    this.#link = link;
  }

  find(id: string): SessionItem | undefined {
    return this.items.find((known) => known.id === id);
  }

  /** Loads the list once per connection; changes arrive as notifications. Resolves with whether it is complete. */
  async read(): Promise<boolean> {
    const read = ++this.#read;
    const meanwhile: Meanwhile = (this.#changes = { items: new Map(), removed: new Set() });
    const found: SessionItem[] = [];
    // Pages loaded by scrolling stay in the list.
    const most = Math.max(PAGES, this.#pages);
    let cursor: string | null = null;
    let pages = 0;
    do {
      const answer = await this.#page(cursor);
      if (read !== this.#read) return false;
      found.push(...answer.sessions.map(item));
      cursor = answer.nextCursor ?? null;
      pages += 1;
    } while (cursor !== null && pages < most);
    this.#changes = null;
    this.items = unlessChanged([], found, meanwhile);
    this.complete = true;
    this.#until(pages, cursor, found.at(-1));
    return cursor === null;
  }

  /** Loads the next page of older sessions, one at a time. */
  async readMore(): Promise<void> {
    if (this.#next === null || this.#changes !== null) return;
    const read = this.#read;
    const meanwhile: Meanwhile = (this.#changes = { items: new Map(), removed: new Set() });
    try {
      const answer = await this.#page(this.#next);
      if (read !== this.#read) return;
      const found = answer.sessions.map(item);
      this.items = unlessChanged(this.items, found, meanwhile);
      this.#until(this.#pages + 1, answer.nextCursor ?? null, found.at(-1));
    } finally {
      if (this.#changes === meanwhile) this.#changes = null;
    }
  }

  #page(cursor: string | null): Promise<ListSessionsResponse> {
    return this.#link.request(
      'session/list',
      cursor === null ? { _meta: { openagents: { watch: true } } } : { cursor },
    );
  }

  #until(pages: number, next: string | null, last: SessionItem | undefined): void {
    this.#pages = pages;
    this.#next = next;
    this.more = next !== null;
    this.reached = next === null ? -Infinity : (last?.updatedAt ?? this.reached);
  }

  /** Applies changes; returns the changed items, each with its state before. */
  change(
    sessions: readonly SessionInfo[],
    removed: readonly string[],
  ): { before: SessionItem | undefined; after: SessionItem }[] {
    for (const id of removed) {
      this.#changes?.items.delete(id);
      this.#changes?.removed.add(id);
    }
    const before = new Map(this.items.map((known) => [known.id, known]));
    const changes = sessions.map(item).map((after) => ({ before: before.get(after.id), after }));
    for (const { after } of changes) this.#changes?.items.set(after.id, after);
    this.items = withChanges(
      this.items,
      keyOf,
      changes.map(({ after }) => after),
      new Set(removed),
    );
    return changes;
  }

  /** Changes an item optimistically; returns its previous state. */
  patch(id: string, change: Partial<SessionItem>): SessionItem | undefined {
    const known = this.find(id);
    if (known !== undefined) this.items = this.items.map((item) => (item === known ? { ...item, ...change } : item));
    return known;
  }

  remove(id: string): void {
    this.items = this.items.filter((known) => known.id !== id);
  }
}

function keyOf({ id }: SessionItem): string {
  return id;
}

/** The known and the loaded items with the changes that arrived meanwhile. */
function unlessChanged(
  known: readonly SessionItem[],
  read: readonly SessionItem[],
  meanwhile: Meanwhile,
): readonly SessionItem[] {
  const kept = new Set(known.map(keyOf));
  // Known items are at least as new.
  const found = withChanges(
    known,
    keyOf,
    read.filter(({ id }) => !kept.has(id)),
  );
  return withChanges(found, keyOf, [...meanwhile.items.values()], meanwhile.removed);
}

function item(info: SessionInfo): SessionItem {
  const { running = false, waiting = 0, pinned = false, archived = false } = openagents<SessionMeta>(info._meta);
  const time = info.updatedAt ? Date.parse(info.updatedAt) : Number.NaN;
  return {
    id: info.sessionId,
    title: info.title || 'Exploration',
    cwd: info.cwd,
    updatedAt: Number.isNaN(time) ? 0 : time,
    running,
    waiting,
    pinned,
    archived,
  };
}

interface Dated {
  /** Milliseconds since the epoch. */
  updatedAt: number;
}

/**
 * Replaces and removes items of a list that is sorted newest first, in one pass: sorting thousands of sessions again for
 * each that changes would be felt. Of two changes to one item the last counts.
 */
export function withChanges<T extends Dated>(
  known: readonly T[],
  keyOf: (item: T) => string,
  changed: readonly T[],
  removed: ReadonlySet<string> = new Set(),
): readonly T[] {
  const changes = new Map(changed.map((item) => [keyOf(item), item]));
  const kept = known.filter((item) => {
    const key = keyOf(item);
    return !changes.has(key) && !removed.has(key);
  });
  return merged(
    kept,
    [...changes.values()].sort((a, b) => b.updatedAt - a.updatedAt),
  );
}

/** Merges two lists sorted newest first; at equal times, items of `a` come first. */
export function merged<T extends Dated>(a: readonly T[], b: readonly T[]): readonly T[] {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  const all: T[] = [];
  let at = 0;
  for (const item of b) {
    for (let next = a[at]; next !== undefined && next.updatedAt >= item.updatedAt; next = a[at]) {
      all.push(next);
      at += 1;
    }
    all.push(item);
  }
  for (; at < a.length; at += 1) all.push(a[at] as T);
  return all;
}
