import { RequestError } from '@agentclientprotocol/sdk';
import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import type { PastLines, PastPart, PastSession } from '../connection/history-wire';
import { METHODS, type Update } from '../connection/wire';
import { Unfolded } from '../kit/unfolded.svelte';
import { findRow, foldTakenBack, hiddenBehind, type Row } from '../timeline/rows';
import { Parts } from './parts';

/** Rows are numbered from here, so that those of earlier parts have smaller numbers, and those of another place others. */
const MIDDLE = 1_000_000_000;
/** Poll interval of a session that may still grow, in milliseconds. A current bridge also sends its changes. */
const LOOK = 10_000;
/** The code of JSON-RPC for a method that the other side does not have. */
const METHOD_NOT_FOUND = -32601;

/** A session of another agent: what of it was read. */
export class Transcript {
  readonly provider: string;
  readonly id: string;
  session = $state.raw<PastSession | null>(null);
  rows = $state.raw<readonly Row[]>([]);
  /** Its first part has been read. */
  read = $state(false);
  /** Earlier parts can be read. */
  more = $state(false);
  /** Later parts can be read. */
  behind = $state(false);
  /** The line of the log that is to be shown; null once it was. */
  wanted = $state<number | null>(null);
  /** Rows were just added above the others. */
  grewUpward = $state(false);
  /** How often the rows were replaced by those around another line. */
  jumps = $state(0);
  omitted = $state(0);
  problem = $state<string | null>(null);
  readonly unfolded = new Unfolded();

  /** The first rows of runs of taken-back turns that are shown. */
  readonly #open = new Set<string>();
  readonly #link: Link;
  /** The sessions of sub-agents, by the key of the row that started them. */
  readonly #children = new Map<string, Transcript>();
  /** Begins the keys of its rows. */
  readonly #prefix: string;
  #parts: Parts;
  #from = 0;
  #to = 0;
  #size = 0;
  #reading = false;
  /** It grew while a part was read. */
  #grew = false;
  /** The part above is read, or waits for another one. */
  #upward = false;
  /** The bridge is too old to search a log. */
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

  /** The session of a sub-agent that the row `of` started. It is read when it is asked for first. */
  child(id: string, of: string): Transcript {
    const known = this.#children.get(of) ?? new Transcript(this.#link, this.provider, id, null, null, `${of}/`);
    this.#children.set(of, known);
    return known;
  }

  /** The session that has a row: this one, or that of a sub-agent. */
  owner(key: string): Transcript {
    for (const child of this.#children.values()) if (key.startsWith(child.#prefix)) return child.owner(key);
    return this;
  }

  /** The session with an id: this one, or that of a sub-agent. */
  withId(id: string): Transcript | undefined {
    if (id === this.id) return this;
    for (const child of this.#children.values()) {
      const found = child.withId(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The first row of a line, or of one behind it. */
  at(line: number): Row | undefined {
    const row = this.#parts.rows.find(({ seqs }) => seqs.some((seq) => seq >= line));
    const first = row === undefined ? null : hiddenBehind(this.#parts.rows, row.key);
    if (first !== null && !this.#open.has(first)) this.toggleTakenBack(first);
    return row;
  }

  /** An update as received, by its line. */
  update(seq: number): Update | undefined {
    return this.#parts.find(seq);
  }

  /** A line of the log as it is. */
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

  /** The lines of the first and the last update that was read, unless that is the whole log. */
  range(): readonly [number, number] | null {
    if (!this.more && !this.behind) return null;
    const lines = this.rows.flatMap(({ seqs }) => [seqs.at(0) ?? 0, seqs.at(-1) ?? 0]).filter((line) => line > 0);
    return lines.length === 0 ? null : [lines.reduce((a, b) => Math.min(a, b)), lines.reduce((a, b) => Math.max(a, b))];
  }

  /** The lines of the whole log that have a text; null if only what was read can be searched. */
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

  /** Shows the rows around a line, and resolves with the key of its row. */
  async seek(line: number): Promise<string | null> {
    const range = this.range();
    if (range !== null && (line < range[0] || line > range[1])) {
      await this.#idle();
      await this.#begin({ line });
    }
    this.wanted = line;
    return this.at(line)?.key ?? null;
  }

  /** Reads the part above what is shown. */
  async readEarlier(): Promise<void> {
    if (!this.more || this.#upward) return;
    this.#upward = true;
    // A list that is at its top does not ask again.
    await this.#idle();
    const part = await this.#part({ before: this.#from });
    this.#upward = false;
    if (part === null) return;
    this.#from = part.from;
    this.#parts.addAbove(part.updates.map(update));
    this.grewUpward = true;
    this.#show();
  }

  /** Reads what follows: the rest of a session that was opened in its middle, or what was appended since. */
  async readLater(): Promise<void> {
    if (!this.read) return;
    const part = await this.#part({ from: this.#to });
    if (part === null || part.to === this.#to) return;
    this.#to = part.to;
    this.#parts.addBelow(part.updates.map(update));
    this.grewUpward = false;
    this.#show();
  }

  /** The list tells of a change, or of one that it has told before. */
  changed(session: PastSession): void {
    const grew = session.updatedAt !== this.session?.updatedAt;
    this.session = session;
    if (!grew) return;
    if (this.#reading) this.#grew = true;
    else if (!this.behind) void this.readLater();
  }

  /** Follows the log while the session is shown; returns what ends that. */
  follow(): () => void {
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !this.behind) void this.readLater();
    }, LOOK);
    return () => clearInterval(timer);
  }

  /** Waits until no part is read. */
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
      this.problem = null;
      return part;
    } catch (error) {
      if (this.#link.state.name === 'live') this.problem = sentence(error);
      return null;
    } finally {
      this.#reading = false;
      if (this.#grew) setTimeout(() => this.#look());
    }
  }

  #look(): void {
    this.#grew = false;
    if (!this.behind) void this.readLater();
  }

  /** Shows or hides the turns that were taken back, from their first row on. */
  toggleTakenBack(key: string): void {
    if (!this.#open.delete(key)) this.#open.add(key);
    this.grewUpward = false;
    this.#show();
  }

  opened(key: string): boolean {
    return this.#open.has(key);
  }

  #show(): void {
    this.rows = foldTakenBack(this.#parts.rows, this.#open);
    this.more = this.#from > 0;
    this.behind = this.#to < this.#size;
  }
}

/** JSON as a value, anything else as a text. */
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
