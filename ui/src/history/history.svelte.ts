import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/sentence';
import type { PastChanges, PastFilter, PastSession, PastSessions } from '../connection/history-wire';
import { METHODS } from '../connection/wire';
import { pastKey } from '../session/entry';
import { withChanges } from '../session/newest';
import { Transcript } from './transcript.svelte';

/** How far a list was read. */
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
  /** The session that is shown. */
  open = $state.raw<Transcript | null>(null);

  readonly #link: Link;
  #reading = false;
  /** Changes that arrive while a page is read: it may be older. */
  #told: PastChanges[] = [];
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
  changed(changes: PastChanges): void {
    if (this.#reading) this.#told.push(changes);
    this.#apply(changes);
    if (changes.all === true) void this.#again();
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

  async #again(): Promise<void> {
    const { filter } = this.#narrowed ?? {};
    this.items = [];
    this.#whole = UNREAD;
    if (filter !== undefined) this.narrow(filter);
    await this.#page(null);
  }

  /** Reads the newest page, or with a filter the page behind what was read of it. */
  async #page(filter: PastFilter | null): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    this.#told = [];
    const narrowed = this.#narrowed;
    const whole = this.#whole;
    try {
      const last = filter === null ? undefined : this.#last(filter);
      const after = last === undefined ? {} : { after: { provider: last.provider, id: last.id } };
      const page = await this.#link.request<PastSessions>(`${METHODS.history}/list`, { ...after, ...(filter === null || Object.keys(filter).length === 0 ? {} : { filter }) });
      this.allowed = true;
      this.problem = null;
      const known = new Set(filter === null && page.more ? this.items.map(pastKey) : []);
      // More than a page changed while the connection was lost: what is between it and the rest is unknown.
      const gap = known.size > 0 && !page.sessions.some((session) => known.has(pastKey(session)));
      this.items = gap ? page.sessions : withChanges(this.items, pastKey, page.sessions);
      for (const changes of this.#told) this.#apply(changes);
      const reached = page.more ? (page.sessions.at(-1)?.updatedAt ?? Infinity) : -Infinity;
      const on = ({ reached: before }: Progress): Progress => ({ reached: Math.min(before, reached), more: page.more });
      // The list began anew meanwhile, or a page of the newest says nothing about the oldest.
      if (whole !== this.#whole) return;
      if (gap) {
        this.#whole = on(UNREAD);
        if (narrowed !== null) this.narrow(narrowed.filter);
      } else if (narrowed !== null && filter === narrowed.filter) {
        if (narrowed === this.#narrowed) this.#narrowed = { ...on(narrowed), filter };
      } else if (filter !== null || whole === UNREAD) {
        this.#whole = on(whole);
        if (this.#narrowed?.reached === Infinity) this.narrow(this.#narrowed.filter);
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
    }
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
