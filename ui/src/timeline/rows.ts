import type { Summary, Usage } from '../connection/wire';

interface RowBase {
  /** Unique in the session and the same for ever. */
  key: string;
  /** The entries of the log that this row is drawn from, oldest first. */
  seqs: number[];
  ts: number;
}

/** `unfinished`: its turn is over and nothing ever said how the call ended. */
export type ToolState = 'pending' | 'running' | 'done' | 'failed' | 'unfinished';

export interface ToolRow extends RowBase {
  kind: 'tool';
  callId: string;
  name: string;
  state: ToolState;
  args: Record<string, unknown>;
  output?: unknown;
  /** 0 to 1. */
  progress?: number;
  note?: string;
  error?: string;
  truncated: boolean;
  timedOut: boolean;
  late: boolean;
  endedAt?: number;
}

export interface MessageRow extends RowBase {
  kind: 'message';
  /** Markdown. */
  text: string;
  messageId: string | null;
  summary?: Summary;
  /** What a model's answer cost; it is whole then. */
  usage?: Usage;
}

export interface ThoughtRow extends RowBase {
  kind: 'thought';
  text: string;
}

export interface UserRow extends RowBase {
  kind: 'user';
  text: string;
}

export type Row = ToolRow | MessageRow | ThoughtRow | UserRow;
