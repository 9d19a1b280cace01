/** Wire types for the sessions of other agents. */
import type { UpdateParams } from './wire';

export interface PastSession {
  /** `claude-code`, `codex`, … */
  provider: string;
  /** The agent's name for people. */
  agent: string;
  id: string;
  title: string | null;
  cwd: string | null;
  branch: string | null;
  model: string | null;
  /** Milliseconds since the epoch, as the times below. */
  createdAt: number | null;
  updatedAt: number;
  /** Continues it in a terminal; absent if the agent has no such command. */
  resume?: string | null;
  pinned?: true;
  archived?: true;
  /** The session that it is a fork, a branch or a copy of. */
  continues?: string;
  /** Why something may be missing from what is shown of it. */
  incomplete?: string;
  /** The path of its log; local clients only. */
  file?: string;
}

/** Selects sessions of the list. */
export interface PastFilter {
  provider?: string;
  cwd?: string;
  branch?: string;
  /** Milliseconds since the epoch: those that changed since. */
  since?: number;
  /** Absent: archived ones and others. */
  archived?: boolean;
}

/** Params of `_openagents/history/changed`: the newest changes, of which some may have been told before. */
export interface PastChanges {
  /** The number of changes so far. */
  number?: number;
  /** New or changed rows. */
  sessions: PastSession[];
  removed: Pick<PastSession, 'provider' | 'id'>[];
  /** Too many changed: the list has to be read again. */
  all?: boolean;
}

export interface HistoryAgent {
  provider: string;
  agent: string;
  sessions: number;
  /** The number of sessions of which something may be missing, and why: the most frequent reasons. */
  incomplete: number;
  why: string[];
}

/** The state and the settings of other agents' sessions. */
export interface HistorySnapshot {
  /** They are indexed for search. */
  index: boolean;
  /** Paired devices see them. */
  devices: boolean;
  excluded: { agents: string[]; workspaces: string[] };
  agents: HistoryAgent[];
  /** The number of sessions in the index, and of those that are too long to be indexed whole. */
  sessions: number;
  cut: number;
  /** Size of the index on disk. */
  bytes: number;
  progress: { done: number; total: number };
}

export interface PastSessions {
  /** Newest first; behind those of the first page, the older ones that are pinned. */
  sessions: PastSession[];
  /** There are older ones. */
  more: boolean;
  /** Sessions that were found and not read yet. */
  unread: number;
  /** The number of sessions of the list of which something may be missing. */
  incomplete: number;
}

/** A part of a past session. */
export interface PastPart {
  session: PastSession;
  /** As of a live session; the number of each is the line of the log, 0 if that is unknown. */
  updates: UpdateParams[];
  /** Offset of the part's first line, and behind its last one. */
  from: number;
  to: number;
  size: number;
  /** Lines that could not be read. */
  omitted: number;
}

/** Lines of a log that have a text. */
export interface PastLines {
  /** Ascending. */
  lines: number[];
  /** There are more. */
  more: boolean;
}
