import type { Approval, Decision, Findings, PromptImage, Summary, Usage } from '../connection/wire';

interface RowBase {
  /** Unique and stable in the session. */
  key: string;
  /** Log entries behind this row, oldest first. */
  seqs: number[];
  ts: number;
  /** Set on the rows of undone turns: on the first row of a run, how many follow; otherwise 0. */
  undone?: number;
}

/** An image in a message or a result. */
export interface Picture {
  mimeType: string;
  /** Base64. */
  data: string;
}

/** `unfinished`: its turn ended without reporting the call's end. */
export type ToolState = 'pending' | 'running' | 'done' | 'failed' | 'unfinished';

export type WorkKind =
  'read' | 'edit' | 'delete' | 'move' | 'search' | 'execute' | 'think' | 'fetch' | 'switch_mode' | 'other';

export interface FileLocation {
  path: string;
  line?: number | undefined;
}

export type Piece =
  /** Markdown. */
  | { type: 'text'; text: string }
  | { type: 'image'; picture: Picture }
  | { type: 'diff'; path: string; before: string | null; after: string; truncated: boolean }
  | {
      type: 'terminal';
      id: string;
      command: string | null;
      output: string;
      truncated: boolean;
      exitCode: number | null;
      signal: string | null;
    };

export interface Delegate {
  sessionId: string;
  rows: readonly Row[];
  /** Its agent, if known. */
  mode: string | null;
}

export interface ToolRow extends RowBase {
  kind: 'tool';
  callId: string;
  name: string;
  /** One line for display, if it says more than the name. */
  title: string | null;
  work: WorkKind;
  locations: readonly FileLocation[];
  content: readonly Piece[];
  /** The approvals of the call, oldest first. */
  approvals: readonly Approval[];
  /** The session that the call started. */
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
  /** The sub-agent session that the call started, in another agent's log. */
  childSession?: string;
}

export interface MessageRow extends RowBase {
  kind: 'message';
  /** Markdown. */
  text: string;
  pictures?: readonly Picture[] | undefined;
  messageId: string | null;
  summary?: Summary | undefined;
  /** Drawn instead of the text. */
  findings?: Findings | undefined;
  /** Statistics of a model's answer; present once it is complete. */
  usage?: Usage | undefined;
  /** The text is why the turn failed. */
  failed: boolean;
  late: boolean;
}

export interface ThoughtRow extends RowBase {
  kind: 'thought';
  /** Markdown; empty if the agent does not publish it. */
  text: string;
  messageId: string | null;
  late: boolean;
  /** When the next item arrived. */
  endedAt?: number;
}

export interface UserRow extends RowBase {
  kind: 'user';
  text: string;
  pictures?: readonly Picture[] | undefined;
  /** Its id in the queue. */
  messageId: string | null;
  /** Images of a prompt to us, by hash. */
  images?: readonly PromptImage[] | undefined;
  /** It was removed from the queue before its turn. */
  removed: boolean;
  /** The agent got it during the turn that ran. */
  steered?: boolean;
  routing?: Decision;
}

/** Something that an agent shows beside its answer. */
export type Note =
  | { type: 'notice'; severity: 'info' | 'warning' | 'error'; title: string; description: string; count: number }
  | {
      type: 'compaction';
      state: 'running' | 'completed' | 'failed' | 'cancelled';
      /** Markdown; empty if the agent does not publish it. */
      summary: string;
      error: string;
    }
  /** Markdown. */
  | { type: 'plan'; text: string; path: string | null; removed: boolean };

export interface NoteRow extends RowBase {
  kind: 'note';
  note: Note;
  late: false;
}

export type Row = ToolRow | MessageRow | ThoughtRow | UserRow | NoteRow;

const COMPACTION = {
  running: 'Compacting the conversation…',
  completed: 'Conversation compacted',
  failed: "The conversation couldn't be compacted",
  cancelled: 'Compacting was cancelled',
};

/** The line that shows a note; the rest can be unfolded. */
export function noteTitle(note: Note): string {
  switch (note.type) {
    case 'notice':
      return note.title;
    case 'compaction':
      return note.error === '' ? COMPACTION[note.state] : `${COMPACTION[note.state]}: ${note.error}`;
    case 'plan':
      return note.removed ? 'Plan, withdrawn' : 'Plan';
  }
}

export function findingKey(row: string, at: number): string {
  return `${row}#${at}`;
}

/** The index where the final answer begins (findings before a summary included); -1 without one. */
export function answerAt(rows: readonly Row[]): number {
  const last = rows.at(-1);
  if (last?.kind !== 'message' || (last.summary === undefined && last.findings === undefined)) return -1;
  const asked = rows.findLastIndex((row) => row.kind === 'user');
  const found = rows.findLastIndex((row) => row.kind === 'message' && row.findings !== undefined);
  if (found <= asked) return rows.length - 1;
  return asked === found - 1 ? asked : found;
}

/** Finds a row by its key, also in the sessions of delegates. */
export function findRow(rows: readonly Row[], key: string): Row | undefined {
  for (const row of rows) {
    if (row.key === key) return row;
    const within =
      row.kind === 'tool' && row.delegate !== undefined && key.startsWith(`${row.key}/`)
        ? findRow(row.delegate.rows, key)
        : undefined;
    if (within !== undefined) return within;
  }
  return undefined;
}

/** Announces each answer to screen readers once, when it is complete. */
export class Finished {
  #session: string | null = null;
  #working = false;

  /** Returns the answer that has just completed, '' while one is pending, and null if nothing changed. */
  take(session: string | null, working: boolean, rows: () => readonly Row[]): string | null {
    const before = this.#session === session && this.#working;
    const changed = this.#session !== session || this.#working !== working;
    this.#session = session;
    this.#working = working;
    if (!changed) return null;
    return before && !working ? answer(rows()) : '';
  }
}

/** The text of the newest message after the last prompt. */
function answer(rows: readonly Row[]): string {
  const last = rows.findLast((row) => row.kind === 'user' || (row.kind === 'message' && !row.late));
  if (last?.kind !== 'message') return '';
  return last.summary?.intent ?? last.text;
}

/** Folds each run of undone turns into its first row, unless that row is in `open`. */
export function foldUndone(rows: readonly Row[], open: ReadonlySet<string>): Row[] {
  const folded: Row[] = [];
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at];
    if (row === undefined) break;
    if (row.undone === undefined) {
      folded.push(row);
      continue;
    }
    const next = rows.findIndex((later, place) => place > at && later.undone === undefined);
    const run = rows.slice(at, next === -1 ? rows.length : next);
    folded.push({ ...row, undone: run.length }, ...(open.has(row.key) ? run.slice(1) : []));
    at += run.length - 1;
  }
  return folded;
}

/** The first row of the undone run that contains a row; null if none does. */
export function hiddenBehind(rows: readonly Row[], key: string): string | null {
  const at = rows.findIndex((row) => row.key === key);
  if (rows[at]?.undone === undefined) return null;
  const before = rows.findLastIndex((row, place) => place < at && row.undone === undefined);
  return rows[before + 1]?.key ?? null;
}
