import { openagents, type SessionUpdate, type Summary, type ToolMeta, type Update, type Usage } from '../connection/wire';
import { planView, stilled, type PlanView } from '../plan/plan';
import type { MessageRow, Row, ThoughtRow, ToolRow, ToolState } from '../timeline/rows';

/** What a session looks like after a part of its log. Grown in place by `apply`; rows are replaced, never changed. */
export interface Fold {
  rows: Row[];
  plan: PlanView | null;
  title: string | null;
  mode: string | null;
  /** How many updates have been streamed. */
  updates: number;
  /** The newest entry seen. */
  seq: number;
  /** True while the log itself says that a turn is at work. */
  working: boolean;
  /** Where each tool call's row is. */
  calls: Map<string, number>;
  /** Calls that are announced and not over. */
  open: Set<string>;
}

export function emptyFold(): Fold {
  return {
    rows: [],
    plan: null,
    title: null,
    mode: null,
    updates: 0,
    seq: 0,
    working: false,
    calls: new Map(),
    open: new Set(),
  };
}

/** `again`: seen already; `gap`: something before it is missing, so it has not been taken. */
export type Applied = 'taken' | 'again' | 'gap';

export function apply(fold: Fold, update: Update): Applied {
  const numbered = update.seq > 0;
  if (numbered && update.seq <= fold.seq) return 'again';
  if (numbered && update.seq > fold.seq + 1) return 'gap';
  if (numbered) fold.seq = update.seq;
  fold.updates += 1;
  take(fold, update.params.update, update);
  return 'taken';
}

/** Ends what the log left open: its turn is over, and whoever ran it is gone. */
export function settle(fold: Fold): void {
  fold.working = false;
  fold.open.clear();
  if (fold.plan !== null) fold.plan = stilled(fold.plan);
  fold.rows = fold.rows.map((row) =>
    row.kind === 'tool' && (row.state === 'pending' || row.state === 'running') ? { ...row, state: 'unfinished' } : row,
  );
}

function take(fold: Fold, body: SessionUpdate, at: Update): void {
  switch (body.sessionUpdate) {
    case 'plan':
      fold.plan = planView(body, at.ts, fold.plan);
      if (fold.plan.state === 'running') fold.working = true;
      return;
    case 'tool_call':
      return call(fold, body, at);
    case 'tool_call_update':
      return callUpdate(fold, body, at);
    case 'user_message_chunk':
      fold.rows.push({ kind: 'user', key: `u${fold.updates}`, seqs: [at.seq], ts: at.ts, text: text(body.content) });
      fold.working = true;
      return;
    case 'agent_message_chunk':
      return message(fold, body, at);
    case 'agent_thought_chunk':
      return thought(fold, body, at);
    case 'session_info_update':
      fold.title = body.title ?? fold.title;
      return;
    case 'current_mode_update':
      fold.mode = body.currentModeId;
      return;
    default:
      // Commands, usage and what a later protocol adds: counted, not drawn.
      return;
  }
}

type Body<K extends SessionUpdate['sessionUpdate']> = Extract<SessionUpdate, { sessionUpdate: K }>;

function call(fold: Fold, body: Body<'tool_call'>, at: Update): void {
  const meta = openagents<ToolMeta>(body._meta);
  const row: ToolRow = {
    kind: 'tool',
    key: `t${body.toolCallId}`,
    seqs: [at.seq],
    ts: at.ts,
    callId: body.toolCallId,
    name: body.title,
    state: toolState(body.status) ?? 'pending',
    args: typeof body.rawInput === 'object' && body.rawInput !== null ? (body.rawInput as Record<string, unknown>) : {},
    truncated: false,
    timedOut: false,
    late: meta.late ?? false,
  };
  const known = fold.calls.get(body.toolCallId);
  if (known === undefined) {
    fold.calls.set(body.toolCallId, fold.rows.length);
    fold.rows.push(row);
  } else {
    const before = fold.rows[known] as ToolRow;
    fold.rows[known] = { ...before, name: row.name, args: row.args, seqs: [...before.seqs, at.seq] };
  }
  const begun = row.state === 'pending' || row.state === 'running';
  if (begun && !row.late) {
    fold.open.add(row.callId);
    fold.working = true;
  }
}

function callUpdate(fold: Fold, body: Body<'tool_call_update'>, at: Update): void {
  const meta = openagents<ToolMeta>(body._meta);
  let index = fold.calls.get(body.toolCallId);
  if (index === undefined) {
    // Its announcement is not in this log, but the news still deserves a row.
    index = fold.rows.length;
    fold.calls.set(body.toolCallId, index);
    fold.rows.push({
      kind: 'tool',
      key: `t${body.toolCallId}`,
      seqs: [],
      ts: at.ts,
      callId: body.toolCallId,
      name: body.title ?? `call ${body.toolCallId.slice(0, 8)}…`,
      state: 'pending',
      args: {},
      truncated: false,
      timedOut: false,
      late: false,
    });
  }
  const before = fold.rows[index] as ToolRow;
  const state = toolState(body.status) ?? before.state;
  const over = state === 'done' || state === 'failed';
  const after: ToolRow = {
    ...before,
    seqs: [...before.seqs, at.seq],
    state,
    truncated: before.truncated || (meta.truncated ?? false),
    timedOut: before.timedOut || (meta.timedOut ?? false),
    late: before.late || (meta.late ?? false),
  };
  if (meta.progress !== undefined) after.progress = Math.min(1, Math.max(0, meta.progress));
  if (meta.note !== undefined) after.note = meta.note;
  if (body.rawOutput !== undefined) after.output = body.rawOutput;
  if (state === 'failed') after.error = meta.error ?? errorText(body.rawOutput) ?? 'The tool failed and gave no reason.';
  if (over) {
    after.endedAt = at.ts;
    fold.open.delete(body.toolCallId);
  }
  fold.rows[index] = after;
}

function toolState(status: string | null | undefined): ToolState | undefined {
  switch (status) {
    case 'pending':
      return 'pending';
    case 'in_progress':
      return 'running';
    case 'completed':
      return 'done';
    case 'failed':
      return 'failed';
    default:
      return undefined;
  }
}

/** The bridge's own last words of a turn: each is a message of its own, even where nothing stands between two of them. */
const LAST_WORDS = /^(?:Cancelled before it began\.$|Exploration cancelled\.$|❌ )/u;

function message(fold: Fold, body: Body<'agent_message_chunk'>, at: Update): void {
  const { summary, usage } = openagents<{ summary: Summary; usage: Usage }>(body._meta);
  const messageId = idOf(body);
  const said = text(body.content);
  const last = fold.rows.at(-1);
  const goesOn = last?.kind === 'message' && last.messageId === messageId && last.summary === undefined && last.usage === undefined;
  if (goesOn && !LAST_WORDS.test(last.text) && !LAST_WORDS.test(said)) {
    const joined: MessageRow = { ...last, text: last.text + said, seqs: [...last.seqs, at.seq] };
    if (summary !== undefined) joined.summary = summary;
    if (usage !== undefined) joined.usage = usage;
    fold.rows[fold.rows.length - 1] = joined;
  } else if (said !== '' || summary !== undefined) {
    const row: MessageRow = { kind: 'message', key: `m${fold.updates}`, seqs: [at.seq], ts: at.ts, text: said, messageId };
    if (summary !== undefined) row.summary = summary;
    if (usage !== undefined) row.usage = usage;
    fold.rows.push(row);
  }
  // An exploration ends with its one final message, which comes after the plan's last word.
  fold.working = fold.open.size > 0 || fold.plan?.state === 'running';
}

function thought(fold: Fold, body: Body<'agent_thought_chunk'>, at: Update): void {
  const last = fold.rows.at(-1);
  if (last?.kind === 'thought') {
    const joined: ThoughtRow = { ...last, text: last.text + text(body.content), seqs: [...last.seqs, at.seq] };
    fold.rows[fold.rows.length - 1] = joined;
  } else {
    fold.rows.push({ kind: 'thought', key: `h${fold.updates}`, seqs: [at.seq], ts: at.ts, text: text(body.content) });
  }
}

function idOf(body: object): string | null {
  const id = (body as { messageId?: unknown }).messageId;
  return typeof id === 'string' ? id : null;
}

function errorText(output: unknown): string | undefined {
  if (typeof output === 'string') return output;
  const error = (output as { error?: unknown } | null | undefined)?.error;
  return typeof error === 'string' ? error : undefined;
}

function text(content: Body<'agent_message_chunk'>['content']): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
      return '[Image]';
    case 'audio':
      return '[Audio]';
    case 'resource_link':
      return `Resource: ${content.uri}`;
    default:
      return '[Attachment]';
  }
}
