import { merged } from '../session/newest';
import type { Entry } from '../session/entry';

/** The read part of a list, newest first. */
export interface Loaded {
  entries: readonly Entry[];
  /** Everything that changed since then has been read, in milliseconds since the epoch. */
  reached: number;
}

/** The sessions of both lists, down to where either still has more to read. Pinned ones do not wait for that. */
export function listed(ours: Loaded, past: Loaded): readonly Entry[] {
  const from = Math.max(ours.reached, past.reached);
  const all = merged(ours.entries, past.entries);
  return from === -Infinity ? all : all.filter((entry) => entry.updatedAt >= from || entry.pinned);
}
