import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/sentence';
import type { PastSession, PastSessions } from '../connection/history-wire';
import { METHODS } from '../connection/wire';
import { Transcript } from './transcript.svelte';

/** The sessions of other agents on this computer. */
export class History {
  items = $state.raw<readonly PastSession[]>([]);
  /** There are older ones. */
  more = $state(false);
  /** The list has been read once. */
  complete = $state(false);
  problem = $state<string | null>(null);
  /** The session that is shown. */
  open = $state.raw<Transcript | null>(null);

  readonly #link: Link;
  #reading = false;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Reads the newest sessions; those that were read before stay. */
  async read(): Promise<void> {
    await this.#page(null);
  }

  /** Reads a page of older sessions. */
  async readMore(): Promise<void> {
    const last = this.items.at(-1);
    if (this.more && last !== undefined) await this.#page(last);
  }

  async #page(after: PastSession | null): Promise<void> {
    if (this.#reading) return;
    this.#reading = true;
    try {
      const params = after === null ? {} : { after: { provider: after.provider, id: after.id } };
      const page = await this.#link.request<PastSessions>(`${METHODS.history}/list`, params);
      this.items = merged(this.items, page.sessions);
      // A page of the newest says nothing about the oldest.
      if (after !== null || !this.complete) this.more = page.more;
      this.complete = true;
      this.problem = null;
    } catch (error) {
      if (this.#link.state.name === 'live') this.problem = sentence(error);
    } finally {
      this.#reading = false;
    }
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

/** The sessions of both lists, the newer description of each, newest first. */
function merged(known: readonly PastSession[], read: readonly PastSession[]): PastSession[] {
  const all = new Map(known.map((item) => [`${item.provider} ${item.id}`, item]));
  for (const item of read) all.set(`${item.provider} ${item.id}`, item);
  return [...all.values()].sort((a, b) => b.updatedAt - a.updatedAt);
}
