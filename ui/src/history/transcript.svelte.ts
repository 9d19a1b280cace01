import { RequestError } from '@agentclientprotocol/sdk';
import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import { METHODS, type Update } from '../connection/protocol';
import type { PastLines, PastPart, PastSession } from '../connection/wire';
import { Unfolded } from '../kit/unfolded.svelte';
import { findRow, foldUndone, hiddenBehind, type Row } from '../session/rows';
import { Parts } from './parts';

/** First row number: earlier parts count down from it, and each position in the log has its own range. */
const MIDDLE = 1_000_000_000;
/** Poll interval in milliseconds for a session that may still grow. A current bridge also pushes changes. */
const LOOK = 10_000;
/** JSON-RPC's "method not found". */
const METHOD_NOT_FOUND = -32601;

/** The loaded part of another agent's session. */
export class Transcript {
  readonly provider: string;
  readonly id: string;
  session = $state.raw<PastSession | null>(null);
  rows = $state.raw<readonly Row[]>([]);
  /** The first part is loaded. */
  read = $state(false);
  more = $state(false);
  behind = $state(false);
  /** The log line to scroll to; null once that is done. */
  wanted = $state<number | null>(null);
  /** The last change added rows at the top. */
  grewUpward = $state(false);
  /** Counts jumps to another line, which replace all rows. */
  jumps = $state(0);
  omitted = $state(0);
  /** Since when its log has less than before, or something else; milliseconds since the epoch. */
  replacedAt = $state<number | null>(null);
  problem = $state<string | null>(null);
  readonly unfolded = new Unfolded();

  /** Keys of the unfolded runs of undone turns, by first row. */
  readonly #open = new Set<string>();
  readonly #link: Link;
  /** Sub-agent sessions by the key of the row that started them. */
  readonly #children = new Map<string, Transcript>();
  /** Prefix of its row keys. */
  readonly #prefix: string;
  #parts: Parts;
  #from = 0;
  #to = 0;
  #size = 0;
  #reading = false;
  /** The log grew while a part was loading. */
  #grew = false;
  /** The part above is loading or queued. */
  #upward = false;
  #unsearchable = false;

  constructor(link: Link, provider: string, id: string, known: PastSession | null, line: number | null, prefix = '') {
    this.#link = link;
    this.provider = provider;
    this.id = id;
    this.session = known;
    this.wanted = line;
    this.#prefix = prefix;
    this.#parts = new Parts(MIDDLE, prefix);
    void this.#begin(line === null ? {} : { line });
  }

  row(key: string): Row | undefined {
    return findRow(this.owner(key).rows, key);
  }

  /** The sub-agent session that row `of` started; loaded on first use. */
  child(id: string, of: string): Transcript {
    const known = this.#children.get(of) ?? new Transcript(this.#link, this.provider, id, null, null, `${of}/`);
    this.#children.set(of, known);
    return known;
  }

  /** This session or the sub-agent session that contains a row. */
  owner(key: string): Transcript {
    for (const child of this.#children.values()) if (key.startsWith(child.#prefix)) return child.owner(key);
    return this;
  }

  /** This session or the sub-agent session with an id. */
  withId(id: string): Transcript | undefined {
    if (id === this.id) return this;
    for (const child of this.#children.values()) {
      const found = child.withId(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The first row at or after a line. */
  at(line: number): Row | undefined {
    const row = this.#parts.rows.find(({ seqs }) => seqs.some((seq) => seq >= line));
    const first = row === undefined ? null : hiddenBehind(this.#parts.rows, row.key);
    if (first !== null && !this.#open.has(first)) this.toggleUndone(first);
    return row;
  }

  /** An update as received, by log line. */
  update(seq: number): Update | undefined {
    return this.#parts.find(seq);
  }

  /** A raw line of the log. */
  async line(line: number): Promise<unknown> {
    const { text } = await this.#link.request<{ text: string }>(`${METHODS.history}/line`, {
      provider: this.provider,
      id: this.id,
      line,
    });
    return parsed(text);
  }

  async #begin(place: { line?: number }): Promise<void> {
    const part = await this.#part(place);
    if (part === null) return;
    [this.#from, this.#to] = [part.from, part.to];
    if (this.read) this.jumps += 1;
    this.grewUpward = false;
    this.#parts = new Parts(MIDDLE * (1 + this.jumps), this.#prefix);
    this.#parts.addBelow(part.updates.map(update));
    this.read = true;
    this.#show();
  }

  /** The log lines of the first and last loaded update; null if the whole log is loaded. */
  range(): readonly [number, number] | null {
    if (!this.more && !this.behind) return null;
    const lines = this.rows.flatMap(({ seqs }) => [seqs.at(0) ?? 0, seqs.at(-1) ?? 0]).filter((line) => line > 0);
    return lines.length === 0 ? null : [lines.reduce((a, b) => Math.min(a, b)), lines.reduce((a, b) => Math.max(a, b))];
  }

  /** All log lines that contain a text; null if only the loaded part can be searched. */
  async lines(query: string): Promise<{ lines: number[]; more: boolean } | null> {
    if (this.#unsearchable) return null;
    try {
      return await this.#link.request<PastLines>(`${METHODS.history}/find`, {
        provider: this.provider,
        id: this.id,
        query,
      });
    } catch (error) {
      this.#unsearchable = error instanceof RequestError && error.code === METHOD_NOT_FOUND;
      return null;
    }
  }

  /** Loads the rows around a line and resolves with the key of its row. */
  async seek(line: number): Promise<string | null> {
    const range = this.range();
    if (range !== null && (line < range[0] || line > range[1])) {
      await this.#idle();
      await this.#begin({ line });
    }
    this.wanted = line;
    return this.at(line)?.key ?? null;
  }

  /** Loads the part above the first row. */
  async readEarlier(): Promise<void> {
    if (!this.more || this.#upward) return;
    this.#upward = true;
    // A list that stays at its top does not ask again.
    await this.#idle();
    const part = await this.#part({ before: this.#from });
    this.#upward = false;
    if (part === null) return;
    this.#from = part.from;
    this.#parts.addAbove(part.updates.map(update));
    this.grewUpward = true;
    this.#show();
  }

  /** Loads the part below the last row, or what was appended since. */
  async readLater(): Promise<void> {
    if (!this.read) return;
    const part = await this.#part({ from: this.#to });
    if (part === null || part.to === this.#to) return;
    this.#to = part.to;
    this.#parts.addBelow(part.updates.map(update));
    this.grewUpward = false;
    this.#show();
  }

  /** Handles a change notification from the list, which may be a repeat. */
  changed(session: PastSession): void {
    const grew = session.updatedAt !== this.session?.updatedAt;
    this.session = session;
    if (!grew) return;
    if (this.#reading) this.#grew = true;
    else if (!this.behind) void this.readLater();
  }

  /** Follows the log until the returned function is called. */
  follow(): () => void {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !this.behind) void this.readLater();
    }, LOOK);
    return () => clearInterval(timer);
  }

  /** Waits until no part is loading. */
  async #idle(): Promise<void> {
    while (this.#reading) await new Promise((after) => setTimeout(after, 20));
  }

  async #part(place: { before?: number; from?: number; line?: number }): Promise<PastPart | null> {
    if (this.#reading) return null;
    this.#reading = true;
    try {
      const part = await this.#link.request<PastPart>(`${METHODS.history}/read`, {
        provider: this.provider,
        id: this.id,
        ...place,
      });
      this.session = part.session;
      this.#size = part.size;
      this.omitted += part.omitted;
      this.replacedAt = part.replacedAt ?? null;
      this.problem = null;
      return part;
    } catch (error) {
      if (this.#link.state.name === 'live') this.problem = sentence(error);
      return null;
    } finally {
      this.#reading = false;
      if (this.#grew) setTimeout(() => this.#poll());
    }
  }

  #poll(): void {
    this.#grew = false;
    if (!this.behind) void this.readLater();
  }

  /** Shows or hides the run of undone turns that starts at a row. */
  toggleUndone(key: string): void {
    if (!this.#open.delete(key)) this.#open.add(key);
    this.grewUpward = false;
    this.#show();
  }

  opened(key: string): boolean {
    return this.#open.has(key);
  }

  #show(): void {
    this.rows = foldUndone(this.#parts.rows, this.#open);
    this.more = this.#from > 0;
    this.behind = this.#to < this.#size;
  }
}

/** Parses JSON; any other text stays a string. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function update(params: PastPart['updates'][number]): Update {
  const { seq = 0, ts = 0 } = params._meta?.openagents ?? {};
  return { params, seq, ts, bytes: 0 };
}
