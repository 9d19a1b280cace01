import type { Approval } from '../connection/agents-wire';
import type { Update } from '../connection/wire';
import { applyFolded } from './fold';
import { emptyFold, type Fold } from './fold-state';
import { RecentUpdates } from './recent-updates';

/** A snapshot that stands for a long log, while it arrives. */
export interface Snapshot {
  fold: Fold;
  /** The updates, by the number of the last entry that each stands for. */
  recent: RecentUpdates;
}

export function beginSnapshot(): Snapshot {
  return { fold: emptyFold(), recent: new RecentUpdates() };
}

/** They arrive in the order of the conversation; their numbers need not rise. */
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
