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

/** `now`, `4m`, `2h`, `3d`, `5w` */
export function age(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 14 ? `${days}d` : `${Math.floor(days / 7)}w`;
}
