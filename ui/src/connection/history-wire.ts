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
}

export interface PastSessions {
  /** Newest first. */
  sessions: PastSession[];
  /** There are older ones. */
  more: boolean;
  /** Sessions that were found and not read yet. */
  unread: number;
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
