import type { KeptCopy, PastSession } from '../connection/wire';
import type { SessionItem } from './session-list.svelte';

/** A session in a list: one of ours, or one of another agent. */
export interface Entry {
  /** Unique among the sessions of all agents. */
  key: string;
  id: string;
  /** `claude-code`, `codex`, …; null for our own. */
  provider: string | null;
  /** The agent's display name. */
  agent: string;
  title: string;
  cwd: string | null;
  branch: string | null;
  /** Milliseconds since the epoch. */
  updatedAt: number;
  pinned: boolean;
  archived: boolean;
  running: boolean;
  /** The number of pending questions. */
  waiting: number;
  /** Command that continues it in a terminal; null if its agent has none. */
  resume: string | null;
  /** The path of its log; null for our own, and on other devices. */
  file: string | null;
  /** Why it may be incomplete; null for our own. */
  incomplete: string | null;
  /** It is read from its kept copy; null if its log exists. */
  kept: KeptCopy | null;
  /** Its row in the history; null for our own. */
  past: PastSession | null;
}

export function pastKey({ provider, id }: Pick<PastSession, 'provider' | 'id'>): string {
  return `${provider} ${id}`;
}

/** Cached entries of unchanged items. */
const ENTRIES = new WeakMap<object, Entry>();

export function ownEntry(item: SessionItem): Entry {
  return made(item, () => ({
    key: item.id,
    id: item.id,
    provider: null,
    agent: 'OpenAgents',
    title: item.title,
    cwd: item.cwd,
    branch: null,
    updatedAt: item.updatedAt,
    pinned: item.pinned ?? false,
    archived: item.archived ?? false,
    running: item.running,
    waiting: item.waiting,
    resume: null,
    file: null,
    incomplete: null,
    kept: null,
    past: null,
  }));
}

export function pastEntry(past: PastSession): Entry {
  return made(past, () => ({
    key: pastKey(past),
    id: past.id,
    provider: past.provider,
    agent: past.agent,
    title: past.title ?? 'Untitled session',
    cwd: past.cwd,
    branch: past.branch,
    updatedAt: past.updatedAt,
    pinned: past.pinned ?? false,
    archived: past.archived ?? false,
    running: false,
    waiting: 0,
    resume: past.resume ?? null,
    file: past.file ?? null,
    incomplete: past.incomplete ?? null,
    kept: past.kept ?? null,
    past,
  }));
}

function made(of: object, make: () => Entry): Entry {
  const known = ENTRIES.get(of) ?? make();
  ENTRIES.set(of, known);
  return known;
}
