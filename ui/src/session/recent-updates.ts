import type { Update } from '../connection/wire';

/** Characters of JSON that are kept. */
const MOST = 1_000_000;

/** The newest updates of a session, as received. For the inspector; the bridge has the rest. */
export class RecentUpdates {
  readonly #updates = new Map<number, Update>();
  readonly #most: number;
  #size = 0;

  constructor(most = MOST) {
    this.#most = most;
  }

  get(seq: number): Update | undefined {
    return this.#updates.get(seq);
  }

  /** The last one is kept whatever its size. */
  add(update: Update): void {
    this.#drop(update.seq);
    this.#updates.set(update.seq, update);
    this.#size += update.bytes;
    for (const seq of this.#updates.keys()) {
      if (this.#size <= this.#most || seq === update.seq) break;
      this.#drop(seq);
    }
  }

  #drop(seq: number): void {
    this.#size -= this.#updates.get(seq)?.bytes ?? 0;
    this.#updates.delete(seq);
  }
}
