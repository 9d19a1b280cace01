import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import type { PastChanges, PastFilter, PastSession, PastSessions } from '../connection/history-wire';
import { METHODS } from '../connection/wire';
import { pastKey } from '../session/entry';
import { withChanges } from '../session/session-list.svelte';
import { Transcript } from './transcript.svelte';

/** The read part of a list. */
interface Progress {
  /** Everything that changed since then has been read, in milliseconds since the epoch. */
  reached: number;
  /** There are older ones. */
  more: boolean;
}

const UNREAD: Progress = { reached: Infinity, more: true };

/** The sessions of other agents on this computer. */
export class History {
  /** Newest first. */
  items = $state.raw<readonly PastSession[]>([]);
  /** The bridge shows them to this client. */
  allowed = $state(false);
  problem = $state<string | null>(null);
  /** The number of sessions of which something may be missing. */
  incomplete = $state(0);
  /** The session that is shown. */
  open = $state.raw<Transcript | null>(null);

  readonly #link: Link;
  #reading = false;
  /** Changes that arrive while a page is read: it may be older. */
  #told: PastChanges[] = [];
  /** The number of changes that were told, on this connection. */
  #number: number | null = null;
  /** The list has to be read from its beginning. */
  #stale = false;
  /** The list as a whole, and as the filter selects it. */
  #whole = $state.raw<Progress>(UNREAD);
  #narrowed = $state.raw<(Progress & { filter: PastFilter }) | null>(null);
  readonly #progress = $derived(this.#narrowed === null || !this.#whole.more ? this.#whole : this.#narrowed);

  constructor(link: Link) {
    this.#link = link;
  }

  /** The sessions that the filter selects are complete down to this time. */
  get reached(): number {
    return this.allowed ? this.#progress.reached : -Infinity;
  }

  /** There are older ones that the filter selects. */
  get more(): boolean {
    return this.allowed && this.#progress.more;
  }

  /** Reads the newest sessions, and follows the list if the bridge can tell. A device may not be allowed to. */
  async connected(): Promise<void> {
    this.#number = null;
    await this.#page(null);
    if (this.allowed) await this.#link.request(`${METHODS.history}/watch`, {}).catch(() => undefined);
  }

  /** Older pages are of this filter from now on; null for all sessions. */
  narrow(filter: PastFilter | null): void {
    this.#narrowed = filter === null ? null : { filter, reached: this.#whole.reached, more: true };
  }

  /** Reads a page of older sessions. */
  async readMore(): Promise<void> {
    if (this.more) await this.#page(this.#narrowed?.filter ?? {});
  }

  /** Applies what changed in the list. */
  changed(changes: PastChanges | null): void {
    if (changes === null || this.#missed(changes)) void this.#again();
    if (changes === null) return;
    if (this.#reading) this.#told.push(changes);
    this.#apply(changes);
    const { open } = this;
    const row = changes.sessions.find((session) => open?.provider === session.provider && open.id === session.id);
    if (row !== undefined) open?.changed(row);
  }

  /** Changes a session before the bridge has confirmed it; returns what it was. */
  patch(provider: string, id: string, change: Partial<PastSession>): PastSession | undefined {
    const known = this.items.find((item) => item.provider === provider && item.id === id);
    if (known === undefined) return undefined;
    const after = { ...known, ...change };
    this.items = this.items.map((item) => (item === known ? after : item));
    if (this.open?.provider === provider && this.open.id === id) this.open.session = after;
    return known;
  }

  /** More has changed than is told. */
  #missed({ number, sessions, removed, all = false }: PastChanges): boolean {
    const before = this.#number;
    if (number !== undefined) this.#number = number;
    const told = sessions.length + removed.length;
    return all || (number !== undefined && (before === null ? told === 0 : number - before > told));
  }

  /** Reads the list from its beginning: what was read before may be gone. */
  async #again(): Promise<void> {
    this.#stale = true;
    if (!this.#reading) await this.#page(null);
  }

  /** Reads the newest page, or with a filter the page behind what was read of it. */
  async #page(filter: PastFilter | null): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    this.#told = [];
    const anew = this.#stale && filter === null;
    if (anew) this.#stale = false;
    const narrowed = this.#narrowed;
    try {
      const last = filter === null ? undefined : this.#last(filter);
      const after = last === undefined ? {} : { after: { provider: last.provider, id: last.id } };
      const page = await this.#link.request<PastSessions>(`${METHODS.history}/list`, {
        ...after,
        ...(filter === null || Object.keys(filter).length === 0 ? {} : { filter }),
      });
      this.allowed = true;
      this.problem = null;
      if (filter === null) this.incomplete = page.incomplete;
      const whole = anew || this.#leavesGap(filter, page) ? UNREAD : this.#whole;
      this.items = whole !== this.#whole ? page.sessions : withChanges(this.items, pastKey, page.sessions);
      for (const changes of this.#told) this.#apply(changes);
      const read: Progress = {
        reached: page.more ? end(page.sessions, last === undefined) : -Infinity,
        more: page.more,
      };
      if (filter !== null && filter === narrowed?.filter) {
        if (narrowed === this.#narrowed) this.#narrowed = { ...on(narrowed, read), filter };
      } else if (filter !== null || whole === UNREAD) {
        // Otherwise a page of the newest says nothing about the oldest.
        this.#whole = on(whole, read);
        if (this.#narrowed !== null && (filter === null || this.#narrowed.reached === Infinity))
          this.narrow(this.#narrowed.filter);
      }
    } catch (error) {
      if (this.#link.state.name !== 'live') return;
      this.problem = sentence(error);
      if (this.#link.access.device === null) return;
      this.allowed = false;
      this.items = [];
      this.#whole = UNREAD;
    } finally {
      this.#reading = false;
      if (this.#stale) setTimeout(() => void this.#page(null));
    }
  }

  /** More than a page changed while the connection was lost: what lies between it and the rest is unknown. */
  #leavesGap(filter: PastFilter | null, { sessions, more }: PastSessions): boolean {
    if (filter !== null || !more || this.items.length === 0) return false;
    const known = new Set(this.items.map(pastKey));
    return !sessions.some((session) => session.pinned !== true && known.has(pastKey(session)));
  }

  /** The last session of a filter that was read without a gap. */
  #last(filter: PastFilter): PastSession | undefined {
    const { provider, cwd, branch, archived } = filter;
    return this.items.findLast(
      (item) =>
        item.updatedAt >= this.#progress.reached &&
        (provider === undefined || item.provider === provider) &&
        (cwd === undefined || item.cwd === cwd) &&
        (branch === undefined || item.branch === branch) &&
        (archived === undefined || (item.archived ?? false) === archived),
    );
  }

  #apply({ sessions, removed }: PastChanges): void {
    this.items = withChanges(this.items, pastKey, sessions, new Set(removed.map(pastKey)));
  }

  /** Shows a session from its end, or around a line of its log. */
  show(provider: string, id: string, line: number | null = null): void {
    const open = this.open;
    if (open !== null && open.provider === provider && open.id === id && line === null) return;
    const known = this.items.find((item) => item.provider === provider && item.id === id) ?? null;
    this.open = new Transcript(this.#link, provider, id, known, line);
  }

  close(): void {
    this.open = null;
  }
}

function on({ reached }: Progress, read: Progress): Progress {
  return { ...read, reached: Math.min(reached, read.reached) };
}

/** The time of the last session of a page; on the first one, pinned ones of any time follow it. */
function end(sessions: readonly PastSession[], first: boolean): number {
  const last = first ? sessions.findLast(({ pinned }) => pinned !== true) : undefined;
  return (last ?? sessions.at(-1))?.updatedAt ?? Infinity;
}
