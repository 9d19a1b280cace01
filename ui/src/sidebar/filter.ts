import type { HistoryFilter } from '../connection/wire';
import type { Entry } from '../session/entry';
import { baseName } from '../words/places';
import { daysAgo } from './groups';

/** Which sessions are listed. Null stands for all. */
export interface Filter {
  /** A provider's name; empty for our own sessions. */
  provider: string | null;
  cwd: string | null;
  branch: string | null;
  /** Calendar days; 0 for today only. */
  days: 0 | 7 | 30 | null;
  archived: 'hidden' | 'shown' | 'only';
  /** Only those whose log no longer exists, with those of which only prompts are left. */
  gone: boolean;
}

export const UNFILTERED: Filter = {
  provider: null,
  cwd: null,
  branch: null,
  days: null,
  archived: 'hidden',
  gone: false,
};

export const DAYS: readonly (readonly [Filter['days'], string])[] = [
  [null, 'Any time'],
  [0, 'Today'],
  [7, 'Last 7 days'],
  [30, 'Last 30 days'],
];

export function selected(entries: readonly Entry[], filter: Filter, today: Date): Entry[] {
  const { provider, cwd, branch, days, archived, gone } = filter;
  const from = days === null ? -Infinity : daysAgo(days, today);
  return entries.filter(
    (entry) =>
      (provider === null || (entry.provider ?? '') === provider) &&
      (cwd === null || entry.cwd === cwd) &&
      (branch === null || entry.branch === branch) &&
      entry.updatedAt >= from &&
      (archived === 'shown' || entry.archived === (archived === 'only')) &&
      (gone ? entry.kept !== null : entry.kept?.reason !== 'prompts'),
  );
}

/** A filter for other agents' sessions, as the bridge takes it. */
export function pastFilter({ provider, cwd, branch, days, archived, gone }: Filter, today: Date): HistoryFilter {
  return {
    ...(provider === null ? {} : { provider }),
    ...(cwd === null ? {} : { cwd }),
    ...(branch === null ? {} : { branch }),
    ...(days === null ? {} : { since: daysAgo(days, today) }),
    ...(archived === 'shown' ? {} : { archived: archived === 'only' }),
    ...(gone ? { gone } : {}),
  };
}

/** One condition of a filter, in words and as a filter. */
interface Condition {
  words: string;
  alone: Filter;
}

/** The set conditions of a filter, in the order of its fields. */
export function conditions(filter: Filter, agentName: (provider: string) => string): Condition[] {
  const { provider, cwd, branch, days, archived, gone } = filter;
  const found: (Condition | null)[] = [
    provider === null ? null : { words: agentName(provider), alone: { ...UNFILTERED, provider } },
    cwd === null ? null : { words: baseName(cwd), alone: { ...UNFILTERED, cwd } },
    branch === null ? null : { words: branch, alone: { ...UNFILTERED, branch } },
    days === null ? null : { words: DAYS.find(([known]) => known === days)?.[1] ?? '', alone: { ...UNFILTERED, days } },
    archived === 'hidden'
      ? null
      : { words: archived === 'only' ? 'Archived only' : 'With archived', alone: { ...UNFILTERED, archived } },
    gone ? { words: 'Gone', alone: { ...UNFILTERED, gone } } : null,
  ];
  return found.filter((condition) => condition !== null);
}

/** Why a filter matches nothing: the first condition that alone matches nothing, or their combination. */
export function emptyWords(
  entries: readonly Entry[],
  filter: Filter,
  today: Date,
  agentName: (provider: string) => string,
): string {
  const set = conditions(filter, agentName);
  if (filter.archived === 'hidden' && selected(entries, { ...filter, archived: 'shown' }, today).length > 0)
    return set.length === 0 ? 'All sessions are archived.' : 'All matching sessions are archived.';
  const alone = set.find((condition) => selected(entries, condition.alone, today).length === 0);
  return alone === undefined
    ? `No session matches all of: ${set.map(({ words }) => words).join(', ')}.`
    : `No sessions for the filter “${alone.words}”.`;
}

/** Workspaces and branches to choose from, newest sessions first; branches of the chosen workspace only. */
export function choices(
  entries: readonly Entry[],
  cwd: string | null,
  more: readonly string[],
): { workspaces: string[]; branches: string[] } {
  const workspaces = new Set<string>();
  const branches = new Set<string>();
  for (const entry of entries) {
    if (entry.cwd !== null) workspaces.add(entry.cwd);
    if (entry.branch !== null && (cwd === null || entry.cwd === cwd)) branches.add(entry.branch);
  }
  for (const path of more) workspaces.add(path);
  return { workspaces: [...workspaces], branches: [...branches] };
}
