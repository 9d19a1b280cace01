import type { AvailableCommand, ContentBlock, ToolCallContent, ToolCallLocation } from '@agentclientprotocol/sdk';
import { type Update, openagents } from '../connection/protocol';
import type {
  Approval,
  Decision,
  EditsMeta,
  LoginMeta,
  NoticeMeta,
  PromptMeta,
  SessionConfigOption,
  SessionUpdate,
  SpeechMeta,
  StateMeta,
  TerminalMeta,
  ToolMeta,
} from '../connection/wire';
import { planView, stilled, type PlanView } from '../plan/plan';
import type {
  FileLocation,
  MessageRow,
  Note,
  Picture,
  Piece,
  Row,
  ThoughtRow,
  ToolRow,
  ToolState,
  UserRow,
} from './rows';

type Body<K extends SessionUpdate['sessionUpdate']> = Extract<SessionUpdate, { sessionUpdate: K }>;

/** An agent's question. */
export interface Asked {
  /** The session of the asking delegate; null for the session itself. */
  sessionId: string | null;
  /** The row of the waiting call. */
  key: string;
  approval: Approval;
}

/** What an agent reports beside the conversation. */
export interface Reported<T> {
  /** Id of the agent. */
  agent: string;
  value: T;
}

/**
 * The state of a session after part of its log. `apply` grows it in place: rows are replaced, never changed, except for
 * their lists of entries. `publish` copies the rows of delegates into it.
 */
export interface Fold {
  rows: Row[];
  plan: PlanView | null;
  title: string | null;
  mode: string | null;
  /** The commands that an agent offers. */
  commands: Reported<readonly AvailableCommand[]> | null;
  /** The options that an agent offers. */
  options: Reported<readonly SessionConfigOption[]> | null;
  /** The agent that may edit files until its turn ends; null if none may. */
  edits: string | null;
  /** The agent that does no work until the user logs in; null if none says so. */
  loggedOut: string | null;
  /** How much of the model's context is in use. */
  usage: Reported<Pick<Body<'usage_update'>, 'used' | 'size' | 'cost'>> | null;
  /** The number of updates received. */
  updates: number;
  /** The newest entry applied. */
  seq: number;
  /** The log says that a turn is running. */
  working: boolean;
  /** The row index of each tool call. */
  calls: Map<string, number>;
  /** The row index of each note. */
  notes: Map<string, number>;
  /** Calls that have not ended. */
  open: Set<string>;
  /** Questions by the id of the approval, those of delegates included. */
  asked: Map<string, Asked>;
  /** The state of each delegate, by the call that started it. */
  delegates: Map<string, Fold>;
  /** Calls whose delegates changed since `publish`. */
  touched: Set<string>;
  /** The delegate's session id; null for the session itself. */
  delegate: string | null;
  /** Prefix of every row key, which keeps the rows of delegates apart. */
  prefix: string;
}

export function emptyFold(): Fold {
  return {
    rows: [],
    plan: null,
    title: null,
    mode: null,
    commands: null,
    options: null,
    edits: null,
    loggedOut: null,
    usage: null,
    updates: 0,
    seq: 0,
    working: false,
    calls: new Map(),
    notes: new Map(),
    open: new Set(),
    asked: new Map(),
    delegates: new Map(),
    touched: new Set(),
    delegate: null,
    prefix: '',
  };
}

/** `again`: already applied; `gap`: an earlier entry is missing, so it was not applied. */
type Applied = 'taken' | 'again' | 'gap';

export function apply(fold: Fold, update: Update): Applied {
  const numbered = update.seq > 0;
  if (numbered && update.seq <= fold.seq) return 'again';
  if (numbered && update.seq > fold.seq + 1) return 'gap';
  if (numbered) fold.seq = update.seq;
  applyTo(fold, update);
  return 'taken';
}

/** Applies part of a snapshot, which stands for several entries: its number is the last entry that it covers; parts may arrive out of order. */
export function applyFolded(fold: Fold, update: Update): void {
  fold.seq = Math.max(fold.seq, update.seq);
  applyTo(fold, update);
}

function applyTo(fold: Fold, update: Update): void {
  fold.updates += 1;
  const { parentCallId, childSessionId, undone = false } = update.params._meta?.openagents ?? {};
  const rows = fold.rows.length;
  if (parentCallId !== undefined && childSessionId !== undefined)
    applyDelegated(fold, parentCallId, childSessionId, update);
  else {
    const above = subagentCall(fold, update.params.update);
    if (above === undefined) applyBody(fold, update.params.update, update);
    else applyInside(fold, above, update);
  }
  if (undone) fold.rows = fold.rows.map((row, at) => (at < rows ? row : { ...row, undone: 0 }));
}

/** Ends everything left open by a log whose agent has exited. */
export function settle(fold: Fold): void {
  fold.working = false;
  fold.edits = null;
  fold.open.clear();
  if (fold.plan !== null) fold.plan = stilled(fold.plan);
  for (const [callId, child] of fold.delegates) {
    settle(child);
    fold.touched.add(callId);
  }
  fold.rows = fold.rows.map((row) => {
    if (row.kind === 'thought') return { ...row, endedAt: row.endedAt ?? row.ts };
    if (row.kind === 'note' && row.note.type === 'compaction' && row.note.state === 'running')
      return { ...row, note: { ...row.note, state: 'cancelled' } };
    if (row.kind !== 'tool') return row;
    return row.state === 'pending' || row.state === 'running' ? { ...row, state: 'unfinished' } : row;
  });
}

/** Copies the rows of changed delegates into the session. Called once per batch, because it copies the list. */
export function publish(fold: Fold): void {
  for (const callId of fold.touched) {
    const [index, child] = [fold.calls.get(callId), fold.delegates.get(callId)];
    const row = index === undefined ? undefined : fold.rows[index];
    if (index === undefined || child === undefined || child.delegate === null || row?.kind !== 'tool') continue;
    fold.rows[index] = { ...row, delegate: { sessionId: child.delegate, rows: child.rows.slice(), mode: child.mode } };
  }
  fold.touched.clear();
}

/** Updates of a delegate belong to the row of the call that started it. */
function applyDelegated(fold: Fold, callId: string, sessionId: string, at: Update): void {
  const index = rowOf(fold, callId, at);
  const row = fold.rows[index];
  if (row?.kind !== 'tool') return;
  let child = fold.delegates.get(callId);
  if (child === undefined) {
    child = { ...emptyFold(), asked: fold.asked, prefix: `${row.key}/` };
    fold.delegates.set(callId, child);
  }
  child.delegate = sessionId;
  applyInside(fold, callId, at);
}

function applyInside(fold: Fold, callId: string, at: Update): void {
  const child = fold.delegates.get(callId);
  if (child === undefined) return;
  child.updates += 1;
  applyBody(child, at.params.update, at);
  fold.touched.add(callId);
}

/** The call of the sub-agent whose own call an update is about. An approval of such a call belongs to the session itself. */
function subagentCall(fold: Fold, body: SessionUpdate): string | undefined {
  if (body.sessionUpdate !== 'tool_call_update' || fold.calls.has(body.toolCallId)) return undefined;
  for (const [callId, child] of fold.delegates) if (child.calls.has(body.toolCallId)) return callId;
  return undefined;
}

function applyBody(fold: Fold, body: SessionUpdate, at: Update): void {
  switch (body.sessionUpdate) {
    case 'plan':
      fold.plan = planView(body, at.ts, fold.plan);
      if (fold.plan.state === 'running') fold.working = true;
      return;
    case 'tool_call':
      endThought(fold, at);
      applyCall(fold, body, at);
      // A folded call is announced with its result.
      if (at.params._meta?.openagents?.folded === true) applyCallDetails(fold, body, at);
      return;
    case 'tool_call_update':
      endThought(fold, at);
      return applyCallUpdate(fold, body, at);
    case 'user_message_chunk':
      return applyPrompt(fold, body, at);
    case 'agent_message_chunk':
      endThought(fold, at);
      return applyMessage(fold, body, at);
    case 'agent_thought_chunk':
      // A folded thought is complete: what separated it from the next one may be folded elsewhere.
      if (at.params._meta?.openagents?.folded === true) endThought(fold, at);
      return applyThought(fold, body, at);
    case 'session_info_update':
      fold.title = body.title ?? fold.title;
      applyEdits(fold, body);
      applyLogin(fold, body);
      return applyRouting(fold, body, at);
    case 'current_mode_update':
      fold.mode = body.currentModeId;
      return;
    case 'available_commands_update':
      fold.commands = reported(body, body.availableCommands);
      return;
    case 'config_option_update':
      fold.options = reported(body, body.configOptions);
      return;
    case 'usage_update': {
      const { used, size, cost } = body;
      fold.usage = reported(body, { used, size, cost });
      return;
    }
    case 'notice': {
      const { id, count = 1 } = openagents<NoticeMeta>(body._meta);
      const { title, description } = body;
      const severity = body.severity === 'error' || body.severity === 'warning' ? body.severity : 'info';
      return applyNote(fold, id ?? title, at, () => ({
        type: 'notice',
        severity,
        title,
        description: description ?? '',
        count,
      }));
    }
    case 'compaction_update':
      return applyNote(fold, body.compactionId, at, (before) => compaction(body, before));
    case 'plan_update': {
      const { plan } = body;
      if (plan.type !== 'markdown') return;
      const { content: text, path = null } = plan as { content: string; path?: string | null };
      return applyNote(fold, plan.planId, at, () => ({ type: 'plan', text, path, removed: false }));
    }
    case 'plan_removed':
      return applyNote(fold, body.planId, at, (before) =>
        before?.type === 'plan' ? { ...before, removed: true } : { type: 'plan', text: '', path: null, removed: true },
      );
    default:
      // Kinds of later protocols: counted, not drawn.
      return;
  }
}

/** Adds a note, or replaces the earlier one with its id. */
function applyNote(fold: Fold, id: string, at: Update, change: (before: Note | undefined) => Note): void {
  const index = fold.notes.get(id) ?? fold.rows.length;
  const row = fold.rows[index];
  if (row?.kind === 'note') {
    fold.rows[index] = { ...row, note: change(row.note), seqs: [...row.seqs, at.seq] };
    return;
  }
  endThought(fold, at);
  fold.notes.set(id, index);
  const key = `${fold.prefix}n${fold.updates}`;
  fold.rows.push({ kind: 'note', key, seqs: [at.seq], ts: at.ts, note: change(undefined), late: false });
}

function compaction(body: Body<'compaction_update'>, before: Note | undefined): Note {
  const known = before?.type === 'compaction' ? before : null;
  const { status, summary, error } = body;
  return {
    type: 'compaction',
    state: status === 'completed' || status === 'failed' || status === 'cancelled' ? status : 'running',
    summary: summary === undefined ? (known?.summary ?? '') : (summary ?? []).map(textOf).join(''),
    error: error ?? known?.error ?? '',
  };
}

function reported<T>({ _meta }: { _meta?: unknown }, value: T): Reported<T> {
  return { agent: openagents<StateMeta>(_meta).agent ?? '', value };
}

function applyEdits(fold: Fold, body: Body<'session_info_update'>): void {
  const { agent, editsAllowed } = openagents<EditsMeta>(body._meta);
  if (agent !== undefined && editsAllowed !== undefined) fold.edits = editsAllowed ? agent : null;
}

function applyLogin(fold: Fold, body: Body<'session_info_update'>): void {
  const { agent, loggedOut } = openagents<LoginMeta>(body._meta);
  if (agent !== undefined && loggedOut !== undefined) fold.loggedOut = loggedOut ? agent : null;
}

/** Attaches a routing decision to its prompt. */
function applyRouting(fold: Fold, body: Body<'session_info_update'>, at: Update): void {
  const { routing } = openagents<{ routing: Decision }>(body._meta);
  if (routing === undefined) return;
  const index = fold.rows.findLastIndex((row) => row.kind === 'user' && row.routing === undefined);
  const row = fold.rows[index];
  if (row?.kind !== 'user') return;
  fold.rows[index] = { ...row, routing, seqs: [...row.seqs, at.seq] } satisfies UserRow;
}

function applyPrompt(fold: Fold, body: Body<'user_message_chunk'>, at: Update): void {
  const { removed = false, steered = false, images = [] } = openagents<PromptMeta>(body._meta);
  const [messageId, added] = [idOf(body), textOf(body.content)];
  const index =
    (removed || steered) && added === '' && images.length === 0
      ? fold.rows.findLastIndex((row) => row.kind === 'user' && row.messageId === messageId)
      : -1;
  const row = fold.rows[index];
  if (row?.kind === 'user') {
    fold.rows[index] = { ...row, removed, steered, seqs: [...row.seqs, at.seq] };
    return;
  }
  endThought(fold, at);
  const picture = pictureOf(body.content);
  const last = fold.rows.at(-1);
  if (picture !== null && messageId !== null && last?.kind === 'user' && last.messageId === messageId) {
    fold.rows[fold.rows.length - 1] = {
      ...last,
      seqs: [...last.seqs, at.seq],
      pictures: [...(last.pictures ?? []), picture],
    };
    return;
  }
  fold.rows.push({
    kind: 'user',
    key: `${fold.prefix}u${fold.updates}`,
    seqs: [at.seq],
    ts: at.ts,
    text: added,
    messageId,
    removed,
    ...(steered ? { steered } : {}),
    ...(images.length === 0 ? {} : { images }),
    ...picturesOf(picture),
  });
  if (!removed) fold.working = true;
}

function applyMessage(fold: Fold, body: Body<'agent_message_chunk'>, at: Update): void {
  const {
    summary,
    findings,
    isOverview,
    usage,
    ended,
    failed = false,
    late = false,
  } = openagents<SpeechMeta>(body._meta);
  // The summary has it as data.
  if (isOverview === true) return;
  const messageId = idOf(body);
  const added = textOf(body.content);
  const picture = pictureOf(body.content);
  const index = lastOf(fold, late);
  const last = fold.rows[index];
  const goesOn =
    last?.kind === 'message' &&
    last.messageId === messageId &&
    last.summary === undefined &&
    last.usage === undefined &&
    last.findings === undefined &&
    findings === undefined;
  if (goesOn) {
    // Mutated in place: copying for thousands of chunks takes seconds.
    last.seqs.push(at.seq);
    fold.rows[index] = {
      ...last,
      text: last.text + added,
      ...(picture === null ? {} : { pictures: [...(last.pictures ?? []), picture] }),
      summary,
      usage,
      failed,
    } satisfies MessageRow;
  } else if (added !== '' || picture !== null || summary !== undefined || findings !== undefined) {
    fold.rows.push({
      kind: 'message',
      key: `${fold.prefix}m${fold.updates}`,
      seqs: [at.seq],
      ts: at.ts,
      text: added,
      messageId,
      failed,
      late,
      summary,
      findings,
      usage,
      ...picturesOf(picture),
    });
  }
  const ends = ended === true || summary !== undefined || usage !== undefined;
  // An exploration ends with one final message, after the plan's last update.
  if (ends && !late) {
    fold.working = fold.open.size > 0 || fold.plan?.state === 'running';
    // A snapshot has only the newest state, at its first place.
    if (at.params._meta?.openagents?.folded !== true) fold.edits = null;
  }
}

function applyThought(fold: Fold, body: Body<'agent_thought_chunk'>, at: Update): void {
  const { late = false } = openagents<SpeechMeta>(body._meta);
  const messageId = idOf(body);
  const added = textOf(body.content);
  const index = lastOf(fold, late);
  const last = fold.rows[index];
  if (last?.kind === 'thought' && last.messageId === messageId && last.endedAt === undefined) {
    last.seqs.push(at.seq);
    fold.rows[index] = { ...last, text: last.text + added } satisfies ThoughtRow;
  } else {
    endThought(fold, at);
    fold.rows.push({
      kind: 'thought',
      key: `${fold.prefix}h${fold.updates}`,
      seqs: [at.seq],
      ts: at.ts,
      text: added,
      messageId,
      late,
    });
  }
}

/** A thought ends when something else follows. */
export function endThought(fold: Fold, at: Update): void {
  const index = fold.rows.length - 1;
  const last = fold.rows[index];
  if (last?.kind === 'thought' && last.endedAt === undefined) fold.rows[index] = { ...last, endedAt: at.ts };
}

/** The index of the row that may continue. Late messages are interleaved with the next turn, and neither ends the other. */
function lastOf(fold: Fold, late: boolean): number {
  return fold.rows.findLastIndex((row) => row.kind === 'user' || row.late === late);
}

function idOf(body: object): string | null {
  const id = (body as { messageId?: unknown }).messageId;
  return typeof id === 'string' ? id : null;
}

/** Image types that every browser draws and that cannot run code. */
const DRAWN = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** The image of a content block; null if it is something else or cannot be drawn. */
function pictureOf(content: ContentBlock): Picture | null {
  if (content.type !== 'image' || !DRAWN.has(content.mimeType) || content.data === '') return null;
  return { mimeType: content.mimeType, data: content.data };
}

function picturesOf(picture: Picture | null): { pictures?: readonly Picture[] } {
  return picture === null ? {} : { pictures: [picture] };
}

/** The text of a content block; empty for a drawn image. */
function textOf(content: ContentBlock): string {
  switch (content.type) {
    case 'text':
      return content.text;
    case 'image':
      return pictureOf(content) === null ? '[Image]' : '';
    case 'audio':
      return '[Audio]';
    case 'resource_link':
      return `Resource: ${content.uri}`;
    default:
      return '[Attachment]';
  }
}

/** Folds in a tool call, new or repeated. */
function applyCall(fold: Fold, body: Body<'tool_call'>, at: Update): void {
  const known = fold.calls.has(body.toolCallId);
  const index = rowOf(fold, body.toolCallId, at);
  const before = fold.rows[index] as ToolRow;
  const name = body.name ?? body.title;
  const row: ToolRow = {
    ...before,
    ...detailsOf(before, { ...body, title: distinctTitle(body.title, name) }),
    name,
    args: recordOf(body.rawInput),
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
function applyCallUpdate(fold: Fold, body: Body<'tool_call_update'>, at: Update): void {
  const index = rowOf(fold, body.toolCallId, at, body.title ?? openagents<ToolMeta>(body._meta).approval?.title);
  // Mutated in place like those of messages, since output may come in thousands of updates.
  fold.rows[index]?.seqs.push(at.seq);
  applyCallDetails(fold, body, at);
}

function applyCallDetails(fold: Fold, body: Body<'tool_call' | 'tool_call_update'>, at: Update): void {
  const meta = openagents<ToolMeta>(body._meta);
  const index = rowOf(fold, body.toolCallId, at);
  const before = fold.rows[index] as ToolRow;
  const state = toolState(body.status) ?? before.state;
  const over = state === 'done' || state === 'failed';
  const after: ToolRow = {
    ...before,
    ...detailsOf(before, { ...body, title: distinctTitle(body.title, before.name) }),
    state,
    truncated: before.truncated || (meta.truncated ?? false),
    timedOut: before.timedOut || (meta.timedOut ?? false),
    late: before.late || (meta.late ?? false),
  };
  if (meta.progress !== undefined) after.progress = Math.min(1, Math.max(0, meta.progress));
  if (meta.note !== undefined) after.note = meta.note;
  if (meta.childSessionId !== undefined) after.childSession = meta.childSessionId;
  if (body.rawInput !== undefined && body.rawInput !== null) after.args = recordOf(body.rawInput);
  if (body.rawOutput !== undefined) after.output = body.rawOutput;
  if (state === 'failed' && toolState(body.status) === 'failed') {
    after.error = meta.error ?? errorText(body.rawOutput) ?? 'The tool failed and gave no reason.';
  }
  if (meta.approval !== undefined) {
    const { approval } = meta;
    const known = before.approvals.findIndex(({ id }) => id === approval.id);
    after.approvals = known === -1 ? [...before.approvals, approval] : before.approvals.with(known, approval);
    // A sub-agent has no session here, so its approvals are the session's own.
    const sessionId = at.params._meta?.openagents?.childSessionId ?? null;
    fold.asked.set(approval.id, { sessionId, key: before.key, approval });
  }
  if (over && body.status !== undefined && body.status !== null) {
    after.endedAt = at.params._meta?.openagents?.lastTs ?? at.ts;
    fold.open.delete(body.toolCallId);
  }
  fold.rows[index] = after;
}

/** Returns the index of a call's row; creates a row for a call that was never announced. */
function rowOf(fold: Fold, callId: string, at: Update, name?: string): number {
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
      title: distinctTitle(name, name ?? ''),
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

function detailsOf(
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
    ...(content && content.length > 0 ? { content: shownFrom(before.content, content.flatMap(piecesOf)) } : {}),
  };
}

/** A title that says more than the tool's name. Agents without tool names put everything in the title. */
function distinctTitle(title: string | null | undefined, name: string): string | null {
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

function piecesOf(content: ToolCallContent): Piece[] {
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
  return [picture === null ? { type: 'text', text: textOf(content) } : { type: 'image', picture }];
}

function recordOf(value: unknown): Record<string, unknown> {
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
