export interface Dated {
  /** Milliseconds since the epoch. */
  updatedAt: number;
}

export interface Group<T> {
  name: 'Today' | 'Yesterday' | 'Last 7 days' | 'Older';
  items: T[];
}

/** Newest first, by calendar day in the local time zone. */
export function grouped<T extends Dated>(items: readonly T[], now: Date): Group<T>[] {
  const midnight = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  const daysAgo = (n: number): number => {
    const day = new Date(midnight);
    // Not a multiple of 24 hours: days with a clock change are shorter or longer.
    day.setDate(day.getDate() - n);
    return day.getTime();
  };
  const bounds: [Group<T>['name'], number][] = [
    ['Today', daysAgo(0)],
    ['Yesterday', daysAgo(1)],
    ['Last 7 days', daysAgo(7)],
    ['Older', -Infinity],
  ];
  const groups = bounds.map(([name, from]) => ({ name, from, items: [] as T[] }));
  for (const item of [...items].sort((a, b) => b.updatedAt - a.updatedAt)) {
    groups.find((group) => item.updatedAt >= group.from)?.items.push(item);
  }
  return groups.filter((group) => group.items.length > 0).map(({ name, items: found }) => ({ name, items: found }));
}
