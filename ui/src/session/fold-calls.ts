import type { ContentBlock, ToolCallContent, ToolCallLocation } from '@agentclientprotocol/sdk';
import type { TerminalMeta } from '../connection/agents-wire';
import { openagents, type ToolMeta, type Update } from '../connection/wire';
import type { Piece, FileLocation, ToolRow, ToolState } from '../timeline/rows';
import type { Body, Fold } from './fold-state';
import { pictureOf, text } from './fold-speech';

/** Folds in a tool call, new or repeated. */
export function call(fold: Fold, body: Body<'tool_call'>, at: Update): void {
  const known = fold.calls.has(body.toolCallId);
  const index = rowOf(fold, body.toolCallId, at);
  const before = fold.rows[index] as ToolRow;
  const name = body.name ?? body.title;
  const row: ToolRow = {
    ...before,
    ...details(before, { ...body, title: says(body.title, name) }),
    name,
    args: fields(body.rawInput),
  };
  row.seqs.push(at.seq);
  if (!known) {
    row.state = toolState(body.status) ?? 'pending';
    row.late = openagents<ToolMeta>(body._meta).late ?? false;
  }
  fold.rows[index] = row;
  const begun = row.state === 'pending' || row.state === 'running';
  if (begun && !row.late) {
    fold.open.add(row.callId);
    fold.working = true;
  }
}

/** Folds in an update of a call. It gets a row even if its announcement is missing. */
export function callUpdate(fold: Fold, body: Body<'tool_call_update'>, at: Update): void {
  const index = rowOf(fold, body.toolCallId, at, body.title ?? openagents<ToolMeta>(body._meta).approval?.title);
  // Grown in place, as those of messages: output may come in many thousand updates.
  fold.rows[index]?.seqs.push(at.seq);
  news(fold, body, at);
}

/** Applies an update to a call that has a row. */
export function news(fold: Fold, body: Body<'tool_call' | 'tool_call_update'>, at: Update): void {
  const meta = openagents<ToolMeta>(body._meta);
  const index = rowOf(fold, body.toolCallId, at);
  const before = fold.rows[index] as ToolRow;
  const state = toolState(body.status) ?? before.state;
  const over = state === 'done' || state === 'failed';
  const after: ToolRow = {
    ...before,
    ...details(before, { ...body, title: says(body.title, before.name) }),
    state,
    truncated: before.truncated || (meta.truncated ?? false),
    timedOut: before.timedOut || (meta.timedOut ?? false),
    late: before.late || (meta.late ?? false),
  };
  if (meta.progress !== undefined) after.progress = Math.min(1, Math.max(0, meta.progress));
  if (meta.note !== undefined) after.note = meta.note;
  if (meta.childSessionId !== undefined) after.childSession = meta.childSessionId;
  if (body.rawInput !== undefined && body.rawInput !== null) after.args = fields(body.rawInput);
  if (body.rawOutput !== undefined) after.output = body.rawOutput;
  if (state === 'failed' && toolState(body.status) === 'failed') {
    after.error = meta.error ?? errorText(body.rawOutput) ?? 'The tool failed without a reason.';
  }
  if (meta.approval !== undefined) {
    const { approval } = meta;
    const at = before.approvals.findIndex((known) => known.id === approval.id);
    after.approvals = at === -1 ? [...before.approvals, approval] : before.approvals.with(at, approval);
    fold.asked.set(approval.id, { sessionId: fold.delegate, key: before.key, approval });
  }
  if (over && body.status !== undefined && body.status !== null) {
    after.endedAt = at.params._meta?.openagents?.lastTs ?? at.ts;
    fold.open.delete(body.toolCallId);
  }
  fold.rows[index] = after;
}

/** Returns the index of a call's row; creates a row for a call that was never announced. */
export function rowOf(fold: Fold, callId: string, at: Update, name?: string): number {
  const known = fold.calls.get(callId);
  if (known !== undefined) return known;
  fold.calls.set(callId, fold.rows.length);
  return (
    fold.rows.push({
      kind: 'tool',
      key: `${fold.prefix}t${callId}`,
      seqs: [],
      ts: at.ts,
      callId,
      name: name ?? `call ${callId.slice(0, 8)}…`,
      title: says(name, name ?? ''),
      work: 'other',
      locations: [],
      content: [],
      approvals: [],
      state: 'pending',
      args: {},
      truncated: false,
      timedOut: false,
      late: false,
    }) - 1
  );
}

/** Absent fields keep their value. */
function details(
  before: ToolRow,
  body: {
    title?: string | null;
    kind?: ToolRow['work'] | null;
    locations?: ToolCallLocation[] | null;
    content?: ToolCallContent[] | null;
  },
): Partial<ToolRow> {
  const { title, kind, locations, content } = body;
  return {
    ...(title ? { title } : {}),
    ...(kind ? { work: kind } : {}),
    ...(locations && locations.length > 0 ? { locations: locations.map(fileLocation) } : {}),
    ...(content && content.length > 0 ? { content: shownFrom(before.content, content.flatMap(piece)) } : {}),
  };
}

/** A title that says more than the tool's name. Agents without tool names put everything in the title. */
function says(title: string | null | undefined, name: string): string | null {
  return title && (title !== name || /\s/.test(title)) ? title : null;
}

/**
 * Keeps a change that was shown: some agents replace it with a success message, others with the resulting file
 * compared with itself.
 */
function shownFrom(before: readonly Piece[], after: Piece[]): Piece[] {
  const changes = before.filter((piece) => piece.type === 'diff');
  if (after.every(({ type }) => type !== 'diff')) return [...changes, ...after];
  return after.map((piece) =>
    piece.type === 'diff' && piece.before === piece.after
      ? (changes.find(({ path }) => path === piece.path) ?? piece)
      : piece,
  );
}

const fileLocation = ({ path, line }: ToolCallLocation): FileLocation => ({ path, line: line ?? undefined });

function piece(content: ToolCallContent): Piece[] {
  switch (content.type) {
    case 'content':
      return shownAs(content.content);
    case 'diff':
      return [
        {
          type: 'diff',
          path: content.path,
          before: content.oldText ?? null,
          after: content.newText,
          truncated: openagents<{ truncated: boolean }>(content._meta).truncated ?? false,
        },
      ];
    case 'terminal': {
      const { terminal } = openagents<{ terminal: TerminalMeta }>(content._meta);
      return [
        {
          type: 'terminal',
          id: content.terminalId,
          command: terminal?.command ?? null,
          output: terminal?.output ?? '',
          truncated: terminal?.truncated ?? false,
          exitCode: terminal?.exitCode ?? null,
          signal: terminal?.signal ?? null,
        },
      ];
    }
    default:
      return [];
  }
}

function shownAs(content: ContentBlock): Piece[] {
  const picture = pictureOf(content);
  return [picture === null ? { type: 'text', text: text(content) } : { type: 'image', picture }];
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

const STATES: Partial<Record<string, ToolState>> = {
  pending: 'pending',
  in_progress: 'running',
  completed: 'done',
  failed: 'failed',
};

const toolState = (status: string | null | undefined): ToolState | undefined => STATES[status ?? ''];

function errorText(output: unknown): string | undefined {
  if (typeof output === 'string') return output;
  const error = (output as { error?: unknown } | null | undefined)?.error;
  return typeof error === 'string' ? error : undefined;
}
