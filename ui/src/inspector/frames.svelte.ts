import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import { METHODS } from '../connection/protocol';
import type { Frame } from '../connection/wire';

interface NamedFrame extends Frame {
  /** The method; for an answer, the method of its request. */
  name: string;
  kind: 'request' | 'notification' | 'result' | 'error';
}

/** The number of frames that the bridge keeps. */
export const KEPT = 2000;

/** The last frames of every connection, while they are shown. */
export class Frames {
  shown = $state.raw<readonly NamedFrame[]>([]);
  paused = $state(false);
  /** Frames received while paused. */
  waiting = $state(0);
  problem = $state<string | null>(null);

  readonly #link: Link;
  #all: Frame[] = [];

  constructor(link: Link) {
    this.#link = link;
  }

  /** Fetches the bridge's recent frames; the later ones follow. */
  async follow(): Promise<void> {
    try {
      this.#remembered((await this.#link.request<{ frames: Frame[] }>(METHODS.inspect, {})).frames);
      this.problem = null;
    } catch (error) {
      this.problem = `Couldn't load frames: ${sentence(error)}`;
    }
  }

  /** Stops the stream. */
  leave(): void {
    void this.#link.request(METHODS.inspect, { watch: false }).catch(() => undefined);
  }

  /** Forgets all frames. */
  forget(): void {
    this.#all = [];
    this.waiting = 0;
    this.shown = [];
  }

  #remembered(frames: readonly Frame[]): void {
    const [first, newest] = [frames[0], frames.at(-1)?.n ?? 0];
    // The bridge keeps fewer while it sends none.
    const earlier = this.#all.filter((frame) => first !== undefined && frame.n < first.n && frame.ts <= first.ts);
    // Frame numbers rise within one run of the bridge; a lower one means that it restarted.
    const later = this.#all.filter((frame) => frame.n > newest && newest > 0 && frame.n - newest < KEPT);
    this.#all = [...earlier, ...frames, ...later].slice(-KEPT);
    this.#publish();
  }

  take(batch: readonly Frame[]): void {
    const last = this.#all.at(-1)?.n ?? 0;
    const fresh = batch.filter((frame) => frame.n > last);
    if (fresh.length === 0) return;
    this.#all = [...this.#all, ...fresh].slice(-KEPT);
    if (this.paused) this.waiting += fresh.length;
    else this.#publish();
  }

  pause(paused: boolean): void {
    this.paused = paused;
    this.waiting = 0;
    if (!paused) this.#publish();
  }

  clear(): void {
    // Kept, so that answers still find their requests.
    this.#cleared = this.#all.at(-1)?.n ?? 0;
    this.waiting = 0;
    this.#publish();
  }

  #cleared = 0;

  #publish(): void {
    this.shown = named(this.#all).filter((frame) => frame.n > this.#cleared);
  }
}

const texts = new WeakMap<Frame, string>();

/** The frame's JSON, indented; a truncated frame as it is. */
export function frameJson(frame: Frame): string {
  try {
    return JSON.stringify(JSON.parse(frame.json), null, 2);
  } catch {
    return frame.json;
  }
}

/** Names each frame. An answer carries only an id, so its request is looked up among the frames before it. */
export function named(frames: readonly Frame[]): NamedFrame[] {
  const asked = new Map<string, string>();
  return frames.map((frame) => {
    const id = frame.id ?? null;
    const method = frame.method ?? null;
    if (method !== null) {
      if (id !== null) asked.set(key(frame, frame.direction), method);
      return { ...frame, name: method, kind: id === null ? 'notification' : 'request' };
    }
    const kind = isError(frame) ? 'error' : 'result';
    return { ...frame, name: asked.get(key(frame, frame.direction === 'in' ? 'out' : 'in')) ?? '', kind };
  });
}

function key(frame: Frame, direction: string): string {
  return `${frame.connection} ${direction} ${typeof frame.id} ${frame.id}`;
}

function isError(frame: Frame): boolean {
  // Matched as text instead of parsed: there are up to 2,000.
  return /^\s*\{(?:"jsonrpc":"2\.0",|"id":[^,{}]*,|\s)*"error"/.test(frame.json.slice(0, 300));
}

/** `acp 5f0c2a1e` for a connection without a name. */
export function who(frame: Frame): string {
  return frame.client || `${frame.endpoint} ${String(frame.connection).slice(0, 8)}`;
}

function text(frame: NamedFrame): string {
  let known = texts.get(frame);
  if (known === undefined) {
    const columns = [
      frame.direction,
      frame.kind,
      frame.endpoint,
      frame.client ?? '',
      frame.connection,
      frame.id ?? '',
      frame.name,
    ];
    known = `${columns.join(' ')} ${frame.json}`.toLowerCase();
    texts.set(frame, known);
  }
  return known;
}

/** Keeps the frames that contain every word of the filter, ignoring case. */
export function filtered(frames: readonly NamedFrame[], filter: string): readonly NamedFrame[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  return words.length === 0 ? frames : frames.filter((frame) => words.every((word) => text(frame).includes(word)));
}
