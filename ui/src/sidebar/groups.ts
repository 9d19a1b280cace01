import type { Entry } from '../session/entry';
import { merged } from '../session/session-list.svelte';
import { baseName } from '../words/places';

export type Grouping = 'time' | 'workspace';

export interface Group<T = Entry> {
  /** Unique among the groups. */
  key: string;
  name: string;
  items: T[];
}

/** Midnight `n` calendar days ago, in the local time zone. */
export function daysAgo(n: number, now: Date): number {
  // Not a multiple of 24 hours: days with a clock change are shorter or longer.
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - n).getTime();
}

/** Groups items, sorted newest first, by calendar day. */
export function byTime<T extends { updatedAt: number }>(items: readonly T[], now: Date): Group<T>[] {
  const bounds = [
    ['Today', daysAgo(0, now)],
    ['Yesterday', daysAgo(1, now)],
    ['Last 7 days', daysAgo(7, now)],
    ['Last 30 days', daysAgo(30, now)],
    ['Older', -Infinity],
  ] as const;
  const groups: Group<T>[] = [];
  let at = -1;
  for (const item of items) {
    const bound = bounds.findIndex(([, from]) => item.updatedAt >= from);
    if (bound !== at) groups.push({ key: bounds[bound]?.[0] ?? '', name: bounds[bound]?.[0] ?? '', items: [] });
    at = bound;
    groups.at(-1)?.items.push(item);
  }
  return groups;
}

/** Groups by workspace, newest session first. Workspaces with the same name show their parent folder. */
export function byWorkspace(entries: readonly Entry[]): Group[] {
  const groups = new Map<string, Group>();
  const named = new Map<string, number>();
  for (const entry of entries) {
    const key = entry.cwd ?? '';
    let group = groups.get(key);
    if (group === undefined) {
      const name = key === '' ? 'Unknown folder' : baseName(key);
      groups.set(key, (group = { key, name, items: [] }));
      named.set(name, (named.get(name) ?? 0) + 1);
    }
    group.items.push(entry);
  }
  const alike = (group: Group): boolean => (named.get(group.name) ?? 0) > 1;
  return [...groups.values()].map((group) =>
    alike(group) ? { ...group, name: `${group.name} · ${baseName(group.key.slice(0, -group.name.length))}` } : group,
  );
}

/** The pinned entries first, the others by time or workspace. */
export function grouped(entries: readonly Entry[], grouping: Grouping, now: Date): Group[] {
  const pinned = entries.filter((entry) => entry.pinned);
  const others = pinned.length === 0 ? entries : entries.filter((entry) => !entry.pinned);
  return [
    ...(pinned.length > 0 ? [{ key: ' pinned', name: 'Pinned', items: pinned }] : []),
    ...(grouping === 'time' ? byTime(others, now) : byWorkspace(others)),
  ];
}

/** A line of the virtual list. */
export type Line =
  { key: string; heading: string; entry?: undefined } | { key: string; entry: Entry; heading?: undefined };

/** The groups as lines; unchanged entries keep their line objects. */
export function linesOf(groups: readonly Group[]): Line[] {
  const lines: Line[] = [];
  for (const { key, name, items } of groups) {
    lines.push({ key: `# ${key}`, heading: name });
    for (const entry of items) lines.push(lineOf(entry));
  }
  return lines;
}

const LINES = new WeakMap<Entry, Line>();

function lineOf(entry: Entry): Line {
  const known = LINES.get(entry) ?? { key: entry.key, entry };
  LINES.set(entry, known);
  return known;
}

/** The loaded part of a list, newest first. */
export interface Loaded {
  entries: readonly Entry[];
  /** All sessions changed since this time are loaded; milliseconds since the epoch. */
  reached: number;
}

/** Merges both lists, back to where either has more to load. Pinned sessions are always included. */
export function listed(ours: Loaded, past: Loaded): readonly Entry[] {
  const from = Math.max(ours.reached, past.reached);
  const all = merged(ours.entries, past.entries);
  return from === -Infinity ? all : all.filter((entry) => entry.updatedAt >= from || entry.pinned);
}
