import type { PastSession } from '../connection/history-wire';
import type { SessionItem } from '../session/session-list.svelte';
import type { IconName } from '../kit/icons';

/** Something that can be opened or done. */
export interface PaletteEntry {
  key: string;
  group: 'Sessions' | 'Found in sessions' | 'Workspaces' | 'Commands';
  icon: IconName;
  title: string;
  /** One line of details. */
  note: string;
  /** Keys that do the same. */
  keys?: string;
  run: () => void;
}

/** Rows of a group; more do not help to find something. */
const MOST = 8;

/** Whether a text has all words of a query, in any order, whatever their case. */
export function has(query: string, ...texts: (string | null)[]): boolean {
  const text = texts.join(' ').toLowerCase();
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** The first entries of each group that have the query's words; those that were found by their text have them anyway. */
export function matching(entries: readonly PaletteEntry[], query: string): PaletteEntry[] {
  const counts = new Map<string, number>();
  return entries.filter((entry) => {
    if (entry.group !== 'Found in sessions' && !has(query, entry.title, entry.note)) return false;
    const count = (counts.get(entry.group) ?? 0) + 1;
    counts.set(entry.group, count);
    return count <= MOST || entry.group === 'Found in sessions';
  });
}

/** `Claude Code · harbour · 3d ago` */
export function pastNote({ agent, cwd }: PastSession, name: (path: string) => string, ago: string): string {
  return [agent, cwd === null ? null : name(cwd), ago].filter((part) => part !== null).join(' · ');
}

export function ownNote({ cwd }: SessionItem, name: (path: string) => string, ago: string): string {
  return ['OpenAgents', name(cwd), ago].join(' · ');
}
