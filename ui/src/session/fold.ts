import type { Approval, Decision } from '../connection/agents-wire';
import { openagents, type SessionUpdate, type Update } from '../connection/wire';
import { planView, stilled, type PlanView } from '../plan/plan';
import type { Row, UserRow } from '../timeline/rows';
import { call, callUpdate, news, rowOf } from './fold-calls';
import { endThought, message, prompt, thought } from './fold-speech';

export type Body<K extends SessionUpdate['sessionUpdate']> = Extract<SessionUpdate, { sessionUpdate: K }>;

/** A question of an agent, and where it stands. */
export interface Asked {
  /** Session of the delegate that asks; null for the session itself. */
  sessionId: string | null;
  /** The row of the call that waits. */
  key: string;
  approval: Approval;
}

/**
 * What a session looks like after a part of its log. Grown in place by `apply`; rows are replaced, never changed, but for
 * the list of their entries. Rows of delegates are shown by `publish`.
 */
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
  /** What was asked, by the id of the approval, delegates included. */
  asked: Map<string, Asked>;
  /** What each delegate does, by the call that set it to work. */
  delegates: Map<string, Fold>;
  /** Calls whose delegates have done something since `publish`. */
  touched: Set<string>;
  /** The session of a delegate; null for the session itself. */
  delegate: string | null;
  /** Begins the key of every row, so that rows of delegates are told apart. */
  prefix: string;
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
    asked: new Map(),
    delegates: new Map(),
    touched: new Set(),
    delegate: null,
    prefix: '',
  };
}

/** `again`: seen already; `gap`: something before it is missing, so it has not been taken. */
export type Applied = 'taken' | 'again' | 'gap';

export function apply(fold: Fold, update: Update): Applied {
  const numbered = update.seq > 0;
  if (numbered && update.seq <= fold.seq) return 'again';
  if (numbered && update.seq > fold.seq + 1) return 'gap';
  if (numbered) fold.seq = update.seq;
  enter(fold, update);
  return 'taken';
}

/** Takes a part of a folded state, which stands for several entries: their numbers say how far it goes, and no order. */
export function applyFolded(fold: Fold, update: Update): void {
  fold.seq = Math.max(fold.seq, update.seq);
  enter(fold, update);
}

function enter(fold: Fold, update: Update): void {
  fold.updates += 1;
  const { parentCallId, childSessionId } = update.params._meta?.openagents ?? {};
  if (parentCallId !== undefined && childSessionId !== undefined) delegated(fold, parentCallId, childSessionId, update);
  else take(fold, update.params.update, update);
}

/** Ends what the log left open: its turn is over, and whoever ran it is gone. */
export function settle(fold: Fold): void {
  fold.working = false;
  fold.open.clear();
  if (fold.plan !== null) fold.plan = stilled(fold.plan);
  for (const [callId, child] of fold.delegates) {
    settle(child);
    fold.touched.add(callId);
  }
  fold.rows = fold.rows.map((row) => {
    if (row.kind === 'thought') return { ...row, endedAt: row.endedAt ?? row.ts };
    if (row.kind !== 'tool') return row;
    return row.state === 'pending' || row.state === 'running' ? { ...row, state: 'unfinished' } : row;
  });
}

/** Shows what delegates have done. Called once for many updates: it copies the list of their rows. */
export function publish(fold: Fold): void {
  for (const callId of fold.touched) {
    const [index, child] = [fold.calls.get(callId), fold.delegates.get(callId)];
    const row = index === undefined ? undefined : fold.rows[index];
    if (index === undefined || child === undefined || child.delegate === null || row?.kind !== 'tool') continue;
    fold.rows[index] = { ...row, delegate: { sessionId: child.delegate, rows: child.rows.slice(), mode: child.mode } };
  }
  fold.touched.clear();
}

/** What a delegate does belongs to the row of the call that set it to work. */
function delegated(fold: Fold, callId: string, sessionId: string, at: Update): void {
  const index = rowOf(fold, callId, at);
  const row = fold.rows[index];
  if (row?.kind !== 'tool') return;
  let child = fold.delegates.get(callId);
  if (child === undefined) {
    child = { ...emptyFold(), asked: fold.asked, prefix: `${row.key}/` };
    fold.delegates.set(callId, child);
  }
  child.delegate = sessionId;
  child.updates += 1;
  take(child, at.params.update, at);
  fold.touched.add(callId);
}

function take(fold: Fold, body: SessionUpdate, at: Update): void {
  switch (body.sessionUpdate) {
    case 'plan':
      fold.plan = planView(body, at.ts, fold.plan);
      if (fold.plan.state === 'running') fold.working = true;
      return;
    case 'tool_call':
      endThought(fold, at);
      call(fold, body, at);
      // A call that is folded is announced with all that became of it.
      if (at.params._meta?.openagents?.folded === true) news(fold, body, at);
      return;
    case 'tool_call_update':
      endThought(fold, at);
      return callUpdate(fold, body, at);
    case 'user_message_chunk':
      return prompt(fold, body, at);
    case 'agent_message_chunk':
      endThought(fold, at);
      return message(fold, body, at);
    case 'agent_thought_chunk':
      // One that is folded is whole: what stood between two of them may be folded elsewhere.
      if (at.params._meta?.openagents?.folded === true) endThought(fold, at);
      return thought(fold, body, at);
    case 'session_info_update':
      fold.title = body.title ?? fold.title;
      return routed(fold, body, at);
    case 'current_mode_update':
      fold.mode = body.currentModeId;
      return;
    default:
      // Commands, usage and what a later protocol adds: counted, not drawn.
      return;
  }
}

/** Who answers is shown at the prompt that it was decided for. */
function routed(fold: Fold, body: Body<'session_info_update'>, at: Update): void {
  const { routing } = openagents<{ routing: Decision }>(body._meta);
  if (routing === undefined) return;
  const index = fold.rows.findLastIndex((row) => row.kind === 'user' && row.routing === undefined);
  const row = fold.rows[index];
  if (row?.kind !== 'user') return;
  fold.rows[index] = { ...row, routing, seqs: [...row.seqs, at.seq] } satisfies UserRow;
}
