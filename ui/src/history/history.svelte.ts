import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import { METHODS } from '../connection/protocol';
import type { HistoryFilter, HistoryPage, PastChanges, PastSession } from '../connection/wire';
import { pastKey } from '../session/entry';
import { withChanges } from '../session/session-list.svelte';
import { Transcript } from './transcript.svelte';

/** The loaded part of a list. */
interface Progress {
  /** All sessions changed since this time are loaded; milliseconds since the epoch. */
  reached: number;
  more: boolean;
}

const UNREAD: Progress = { reached: Infinity, more: true };

/** The whole list leaves out sessions of which only prompts are left. */
function hasOthers(filter: HistoryFilter | null): boolean {
  return filter?.gone === true;
}

/** Other agents' sessions on this computer. */
export class History {
  /** Newest first. */
  items = $state.raw<readonly PastSession[]>([]);
  /** The bridge lists them for this client. */
  allowed = $state(false);
  problem = $state<string | null>(null);
  /** The number of sessions that may be incomplete. */
  incomplete = $state(0);
  open = $state.raw<Transcript | null>(null);

  readonly #link: Link;
  #reading = false;
  /** Changes that arrived while a page was loading, which may be older. */
  #pending: PastChanges[] = [];
  /** The number of change notifications on this connection. */
  #number: number | null = null;
  /** The list has to be loaded again from the start. */
  #stale = false;
  /** The whole list and the filtered one. */
  #all = $state.raw<Progress>(UNREAD);
  #narrowed = $state.raw<(Progress & { filter: HistoryFilter }) | null>(null);
  readonly #progress = $derived(
    this.#narrowed === null || (!this.#all.more && !hasOthers(this.#narrowed.filter)) ? this.#all : this.#narrowed,
  );

  constructor(link: Link) {
    this.#link = link;
  }

  /** The filtered list is complete back to this time. */
  get reached(): number {
    return this.allowed ? this.#progress.reached : -Infinity;
  }

  /** Older sessions match the filter. */
  get more(): boolean {
    return this.allowed && this.#progress.more;
  }

  /** The log of a session here, which its agent keeps; undefined if it is not among the loaded ones. */
  hostedBy(sessionId: string): PastSession | undefined {
    return this.items.find((item) => item.hostedBy === sessionId);
  }

  /** Loads the newest sessions and subscribes to changes. Some devices may not. */
  async connected(): Promise<void> {
    this.#number = null;
    await this.#page(null);
    if (this.allowed) await this.#link.request(`${METHODS.history}/watch`, {}).catch(() => undefined);
  }

  /** Sets the filter for older pages; null for all sessions. */
  narrow(filter: HistoryFilter | null): void {
    const reached = hasOthers(filter) ? Infinity : this.#all.reached;
    this.#narrowed = filter === null ? null : { filter, reached, more: true };
  }

  async readMore(): Promise<void> {
    if (this.more) await this.#page(this.#narrowed?.filter ?? {});
  }

  changed(changes: PastChanges | null): void {
    if (changes === null || this.#missed(changes)) void this.#again();
    if (changes === null) return;
    if (this.#reading) this.#pending.push(changes);
    this.#apply(changes);
    const { open } = this;
    const row = changes.sessions.find((session) => open?.provider === session.provider && open.id === session.id);
    if (row !== undefined) open?.changed(row);
  }

  /** Changes a session optimistically; returns its previous state. */
  patch(provider: string, id: string, change: Partial<PastSession>): PastSession | undefined {
    const known = this.items.find((item) => item.provider === provider && item.id === id);
    if (known === undefined) return undefined;
    const after = { ...known, ...change };
    this.items = this.items.map((item) => (item === known ? after : item));
    if (this.open?.provider === provider && this.open.id === id) this.open.session = after;
    return known;
  }

  /** More changed than the notification lists. */
  #missed({ number, sessions, removed }: PastChanges): boolean {
    const before = this.#number;
    this.#number = number;
    const listed = sessions.length + removed.length;
    return before === null ? listed === 0 : number - before > listed;
  }

  /** Loads the list again from the start, since earlier entries may be gone. */
  async #again(): Promise<void> {
    this.#stale = true;
    if (!this.#reading) await this.#page(null);
  }

  /** Loads the newest page or, with a filter, its next page. */
  async #page(filter: HistoryFilter | null): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    this.#pending = [];
    const restart = this.#stale && filter === null;
    if (restart) this.#stale = false;
    const narrowed = this.#narrowed;
    try {
      const last = filter === null ? undefined : this.#last(filter);
      const after = last === undefined ? {} : { after: { provider: last.provider, id: last.id } };
      const page = await this.#link.request<HistoryPage>(`${METHODS.history}/list`, {
        ...after,
        ...(filter === null || Object.keys(filter).length === 0 ? {} : { filter }),
      });
      this.allowed = true;
      this.problem = null;
      if (filter === null) this.incomplete = page.incomplete;
      const known = restart || this.#leavesGap(filter, page) ? UNREAD : this.#all;
      this.items = known !== this.#all ? page.sessions : withChanges(this.items, pastKey, page.sessions);
      for (const changes of this.#pending) this.#apply(changes);
      const read: Progress = {
        reached: page.more ? end(page.sessions, last === undefined) : -Infinity,
        more: page.more,
      };
      if (filter !== null && filter === narrowed?.filter) {
        if (narrowed === this.#narrowed) this.#narrowed = { ...on(narrowed, read), filter };
      } else if (filter !== null || known === UNREAD) {
        // A page of the newest sessions says nothing about the oldest.
        this.#all = on(known, read);
        if (this.#narrowed !== null && (filter === null || this.#narrowed.reached === Infinity))
          this.narrow(this.#narrowed.filter);
      }
    } catch (error) {
      if (this.#link.state.name !== 'live') return;
      this.problem = sentence(error);
      if (this.#link.access.device === null) return;
      this.allowed = false;
      this.items = [];
      this.#all = UNREAD;
    } finally {
      this.#reading = false;
      if (this.#stale) setTimeout(() => void this.#page(null));
    }
  }

  /** More than a page changed while disconnected, which leaves an unknown gap before the rest. */
  #leavesGap(filter: HistoryFilter | null, { sessions, more }: HistoryPage): boolean {
    if (filter !== null || !more || this.items.length === 0) return false;
    const known = new Set(this.items.map(pastKey));
    return !sessions.some((session) => session.pinned !== true && known.has(pastKey(session)));
  }

  /** The last session of a filter before any gap. */
  #last(filter: HistoryFilter): PastSession | undefined {
    const { provider, cwd, branch, archived, gone } = filter;
    return this.items.findLast(
      (item) =>
        item.updatedAt >= this.#progress.reached &&
        (provider === undefined || item.provider === provider) &&
        (cwd === undefined || item.cwd === cwd) &&
        (branch === undefined || item.branch === branch) &&
        (archived === undefined || (item.archived ?? false) === archived) &&
        (gone === true ? item.kept !== undefined : item.kept?.reason !== 'prompts'),
    );
  }

  #apply({ sessions, removed }: PastChanges): void {
    this.items = withChanges(this.items, pastKey, sessions, new Set(removed.map(pastKey)));
  }

  /** Opens a session at its end or around a log line. */
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

/** The time of a page's last session. On the first page, pinned sessions of any age follow it. */
function end(sessions: readonly PastSession[], first: boolean): number {
  const last = first ? sessions.findLast(({ pinned }) => pinned !== true) : undefined;
  return (last ?? sessions.at(-1))?.updatedAt ?? Infinity;
}
