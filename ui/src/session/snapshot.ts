import type { Update } from '../connection/protocol';
import type { Approval } from '../connection/wire';
import { applyFolded, emptyFold, type Fold } from './fold';

/** A snapshot that stands for a long log, while it arrives. */
export interface Snapshot {
  fold: Fold;
  /** The updates, by the number of the last entry that each stands for. */
  recent: RecentUpdates;
}

export function beginSnapshot(): Snapshot {
  return { fold: emptyFold(), recent: new RecentUpdates() };
}

/** Updates arrive in conversation order; their numbers need not rise. */
export function takeFolded({ fold, recent }: Snapshot, update: Update): void {
  applyFolded(fold, update);
  recent.add(update);
}

/** From here on the log continues entry by entry. */
export function endSnapshot({ fold }: Snapshot, seq: number, approvals: readonly Approval[]): void {
  fold.seq = seq;
  fold.updates = Math.max(fold.updates, seq);
  for (const approval of approvals) {
    if (!fold.asked.has(approval.id))
      fold.asked.set(approval.id, { sessionId: null, key: `t${approval.callId}`, approval });
  }
}

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

  /** Keeps the last one whatever its size. */
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
