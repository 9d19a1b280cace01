import { browserStorage } from '../backend/storage';
import type { Entry } from '../session/entry';

const KEY = 'openagents.seen';
/** Most sessions remembered. */
const MOST = 400;

interface Stored {
  /** Everything until then counts as read; milliseconds since the epoch. */
  since: number;
  /** Time of the last seen change, by key. */
  seen: Record<string, number>;
}

/** Which sessions changed since they were last opened in this browser. */
export class Seen {
  #state = $state.raw<Stored>(restored());

  constructor() {
    this.#write();
    // Other tabs of this browser open sessions as well.
    addEventListener('storage', ({ key }) => {
      if (key === KEY) this.#state = restored();
    });
  }

  isUnread({ key, updatedAt }: Pick<Entry, 'key' | 'updatedAt'>): boolean {
    return updatedAt > Math.max(this.#state.since, this.#state.seen[key] ?? 0);
  }

  /** Marks the shown session as read. */
  mark(entry: Pick<Entry, 'key' | 'updatedAt'>): void {
    if (!this.isUnread(entry)) return;
    this.#state = cut({ ...this.#state, seen: { ...this.#state.seen, [entry.key]: entry.updatedAt } }, MOST);
    this.#write();
  }

  #write(): void {
    browserStorage.write(KEY, JSON.stringify(this.#state));
  }
}

/** Drops the oldest; everything up to their change counts as read. */
export function cut({ since, seen }: Stored, most: number): Stored {
  const known = Object.entries(seen).filter(([, at]) => at > since);
  if (known.length <= most) return { since, seen: Object.fromEntries(known) };
  known.sort(([, a], [, b]) => b - a);
  return { since: known[most]?.[1] ?? since, seen: Object.fromEntries(known.slice(0, most)) };
}

function restored(): Stored {
  const first: Stored = { since: Date.now(), seen: {} };
  try {
    const value: unknown = JSON.parse(browserStorage.read(KEY) ?? 'null');
    if (typeof value !== 'object' || value === null) return first;
    const { since, seen } = value as Partial<Stored>;
    return typeof since === 'number' && typeof seen === 'object' ? { since, seen } : first;
  } catch {
    return first;
  }
}
