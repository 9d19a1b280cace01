import type { Approval, Decision } from '../connection/agents-wire';
import type { Findings, Summary, Usage } from '../connection/wire';

interface RowBase {
  /** Unique in the session and the same for ever. */
  key: string;
  /** The entries of the log that this row is drawn from, oldest first. */
  seqs: number[];
  ts: number;
}

/** `unfinished`: its turn is over and nothing ever said how the call ended. */
export type ToolState = 'pending' | 'running' | 'done' | 'failed' | 'unfinished';

/** The protocol's kinds of tool calls. */
export type WorkKind = 'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other';

export interface Place {
  path: string;
  line?: number;
}

/** One piece of what a tool call shows. */
export type Piece =
  /** Markdown. */
  | { type: 'text'; text: string }
  | { type: 'diff'; path: string; before: string | null; after: string; truncated: boolean }
  | { type: 'terminal'; id: string; command: string | null; output: string; truncated: boolean; exitCode: number | null; signal: string | null };

/** What happens in the session of a delegate. */
export interface Delegate {
  sessionId: string;
  rows: readonly Row[];
  /** Its agent, where it has said so. */
  mode: string | null;
}

export interface ToolRow extends RowBase {
  kind: 'tool';
  callId: string;
  name: string;
  /** One line for people, where the call says more than its name. */
  title: string | null;
  work: WorkKind;
  places: readonly Place[];
  content: readonly Piece[];
  /** What was asked about the call, oldest first. */
  approvals: readonly Approval[];
  /** The session that it set to work. */
  delegate?: Delegate;
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
  /** Drawn in place of the text. */
  findings?: Findings;
  /** What a model's answer cost; it is whole then. */
  usage?: Usage;
  late: boolean;
}

export interface ThoughtRow extends RowBase {
  kind: 'thought';
  /** Markdown; empty where the agent does not publish it. */
  text: string;
  messageId: string | null;
  late: boolean;
  /** When something else followed. */
  endedAt?: number;
}

export interface UserRow extends RowBase {
  kind: 'user';
  text: string;
  /** Its id in the queue, where it may wait. */
  messageId: string | null;
  /** It was taken out of the queue before its turn came. */
  removed: boolean;
  /** Name of the client that sent it. */
  by?: string;
  /** Who was chosen to answer. */
  routing?: Decision;
}

export type Row = ToolRow | MessageRow | ThoughtRow | UserRow;

/** Names one finding of a message, where rows are named by their keys. */
export function findingKey(row: string, at: number): string {
  return `${row}#${at}`;
}

/** Where the answer begins that the rows end with: with the question, or with what was found, which comes before the summary. -1 where they end otherwise. */
export function answerAt(rows: readonly Row[]): number {
  const last = rows.at(-1);
  if (last?.kind !== 'message' || (last.summary === undefined && last.findings === undefined)) return -1;
  const asked = rows.findLastIndex((row) => row.kind === 'user');
  const found = rows.findLastIndex((row) => row.kind === 'message' && row.findings !== undefined);
  if (found <= asked) return rows.length - 1;
  return asked === found - 1 ? asked : found;
}

/** Finds a row by its key, in the sessions of delegates too. */
export function findRow(rows: readonly Row[], key: string): Row | undefined {
  for (const row of rows) {
    if (row.key === key) return row;
    const within = row.kind === 'tool' && row.delegate !== undefined && key.startsWith(`${row.key}/`) ? findRow(row.delegate.rows, key) : undefined;
    if (within !== undefined) return within;
  }
  return undefined;
}
