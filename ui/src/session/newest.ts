export interface Dated {
  /** Milliseconds since the epoch. */
  updatedAt: number;
}

/**
 * Replaces and removes items of a list that is sorted newest first, in one pass: sorting thousands of sessions again for
 * each that changes would be felt. Of two changes to one item the last counts.
 */
export function withChanges<T extends Dated>(
  known: readonly T[],
  keyOf: (item: T) => string,
  changed: readonly T[],
  removed: ReadonlySet<string> = new Set(),
): readonly T[] {
  const changes = new Map(changed.map((item) => [keyOf(item), item]));
  const kept = known.filter((item) => {
    const key = keyOf(item);
    return !changes.has(key) && !removed.has(key);
  });
  return merged(
    kept,
    [...changes.values()].sort((a, b) => b.updatedAt - a.updatedAt),
  );
}

/** Two lists that are sorted newest first as one; of items with the same time, those of `a` come first. */
export function merged<T extends Dated>(a: readonly T[], b: readonly T[]): readonly T[] {
  if (b.length === 0) return a;
  if (a.length === 0) return b;
  const all: T[] = [];
  let at = 0;
  for (const item of b) {
    for (let next = a[at]; next !== undefined && next.updatedAt >= item.updatedAt; next = a[at]) {
      all.push(next);
      at += 1;
    }
    all.push(item);
  }
  for (; at < a.length; at += 1) all.push(a[at] as T);
  return all;
}
