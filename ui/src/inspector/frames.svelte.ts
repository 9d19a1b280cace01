import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/sentence';
import { METHODS, type Frame } from '../connection/wire';
import { named, type NamedFrame } from './filter';

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
