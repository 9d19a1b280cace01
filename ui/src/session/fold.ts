import type { Decision } from '../connection/agents-wire';
import { openagents, type SessionUpdate, type Update } from '../connection/wire';
import { planView, stilled } from '../plan/plan';
import type { UserRow } from '../timeline/rows';
import { call, callUpdate, news, rowOf } from './fold-calls';
import { endThought, message, prompt, thought } from './fold-speech';
import { emptyFold, type Body, type Fold } from './fold-state';

/** `again`: already applied; `gap`: an earlier entry is missing, so it was not applied. */
export type Applied = 'taken' | 'again' | 'gap';

export function apply(fold: Fold, update: Update): Applied {
  const numbered = update.seq > 0;
  if (numbered && update.seq <= fold.seq) return 'again';
  if (numbered && update.seq > fold.seq + 1) return 'gap';
  if (numbered) fold.seq = update.seq;
  enter(fold, update);
  return 'taken';
}

/** Applies part of a snapshot, which stands for several entries: its number says how far it goes, not in which order. */
export function applyFolded(fold: Fold, update: Update): void {
  fold.seq = Math.max(fold.seq, update.seq);
  enter(fold, update);
}

function enter(fold: Fold, update: Update): void {
  fold.updates += 1;
  const { parentCallId, childSessionId, takenBack = false } = update.params._meta?.openagents ?? {};
  const rows = fold.rows.length;
  if (parentCallId !== undefined && childSessionId !== undefined) delegated(fold, parentCallId, childSessionId, update);
  else take(fold, update.params.update, update);
  if (takenBack) fold.rows = fold.rows.map((row, at) => (at < rows ? row : { ...row, takenBack: 0 }));
}

/** Ends everything that the log left open: its turn is over and its agent has exited. */
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
      // A folded call is announced with its result.
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
      // A folded thought is complete: what separated it from the next one may be folded elsewhere.
      if (at.params._meta?.openagents?.folded === true) endThought(fold, at);
      return thought(fold, body, at);
    case 'session_info_update':
      fold.title = body.title ?? fold.title;
      return routed(fold, body, at);
    case 'current_mode_update':
      fold.mode = body.currentModeId;
      return;
    default:
      // Commands, usage and kinds of later protocols: counted, not drawn.
      return;
  }
}

/** Attaches a routing decision to the prompt it was made for. */
function routed(fold: Fold, body: Body<'session_info_update'>, at: Update): void {
  const { routing } = openagents<{ routing: Decision }>(body._meta);
  if (routing === undefined) return;
  const index = fold.rows.findLastIndex((row) => row.kind === 'user' && row.routing === undefined);
  const row = fold.rows[index];
  if (row?.kind !== 'user') return;
  fold.rows[index] = { ...row, routing, seqs: [...row.seqs, at.seq] } satisfies UserRow;
}
