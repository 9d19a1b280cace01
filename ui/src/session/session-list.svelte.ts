import type { ListSessionsResponse } from '@agentclientprotocol/sdk';
import type { Link } from '../connection/link.svelte';
import { openagents, type SessionInfo, type SessionMeta } from '../connection/wire';

/** A row of the sidebar. */
export interface SessionItem {
  id: string;
  title: string;
  cwd: string;
  updatedAt: number;
  running: boolean;
  /** The number of pending questions. */
  waiting: number;
}

/** The number of `session/list` pages in the sidebar. */
const PAGES = 5;

/** The sessions of this bridge, as the sidebar lists them. */
export class SessionList {
  items = $state.raw<readonly SessionItem[]>([]);
  /** The list has been read. */
  complete = $state(false);

  readonly #link: Link;
  /** Numbers the reads, so that only the newest counts. */
  #read = 0;
  /** Changes that arrive while the list is read. */
  #told: { items: Map<string, SessionItem>; removed: Set<string> } | null = null;

  constructor(link: Link) {
    this.#link = link;
  }

  find(id: string): SessionItem | undefined {
    return this.items.find((known) => known.id === id);
  }

  /** Reads the list, once per connection; changes arrive as notifications. Resolves with whether it now has every session. */
  async read(): Promise<boolean> {
    const read = ++this.#read;
    const told = { items: new Map<string, SessionItem>(), removed: new Set<string>() };
    this.#told = told;
    const found: SessionItem[] = [];
    let cursor: string | null | undefined;
    for (let page = 0; page < PAGES; page += 1) {
      const answer: ListSessionsResponse = await this.#link.request('session/list', cursor ? { cursor } : { _meta: { openagents: { watch: true } } });
      if (read !== this.#read) return false;
      found.push(...answer.sessions.map(item));
      cursor = answer.nextCursor;
      if (!cursor) break;
    }
    // Changes that arrived meanwhile are newer.
    const items = new Map(found.filter(({ id }) => !told.removed.has(id)).map((known) => [known.id, known]));
    for (const known of told.items.values()) items.set(known.id, known);
    this.#told = null;
    this.items = [...items.values()];
    this.complete = true;
    return !cursor;
  }

  /** Applies changes; returns the changed items, each with its state before. */
  change(sessions: readonly SessionInfo[], removed: readonly string[]): { before: SessionItem | undefined; after: SessionItem }[] {
    for (const id of removed) {
      this.#told?.items.delete(id);
      this.#told?.removed.add(id);
    }
    const gone = new Set(removed);
    const items = new Map(this.items.filter(({ id }) => !gone.has(id)).map((known) => [known.id, known]));
    const changes = sessions.map(item).map((after) => ({ before: items.get(after.id), after }));
    for (const { after } of changes) {
      items.set(after.id, after);
      this.#told?.items.set(after.id, after);
    }
    this.items = [...items.values()];
    return changes;
  }

  remove(id: string): void {
    this.items = this.items.filter((known) => known.id !== id);
  }
}

function item(info: SessionInfo): SessionItem {
  const { running = false, waiting = 0 } = openagents<SessionMeta>(info._meta);
  const time = info.updatedAt ? Date.parse(info.updatedAt) : Number.NaN;
  return {
    id: info.sessionId,
    title: info.title || 'Exploration',
    cwd: info.cwd,
    updatedAt: Number.isNaN(time) ? 0 : time,
    running,
    waiting,
  };
}
