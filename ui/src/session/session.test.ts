import { describe, expect, test } from 'vitest';
import type { SessionUpdate, Update } from '../connection/wire';
import type { ToolRow } from '../timeline/rows';
import { Session } from './session.svelte';

const text = (value: string) => ({ type: 'text' as const, text: value });
const asked = (value: string): SessionUpdate => ({ sessionUpdate: 'user_message_chunk', content: text(value) });
const said = (value: string, meta: object = {}): SessionUpdate => ({ sessionUpdate: 'agent_message_chunk', content: text(value), _meta: { openagents: meta } });
const call: SessionUpdate = { sessionUpdate: 'tool_call', toolCallId: 'c', title: 'search.grep', kind: 'search', status: 'in_progress' };
const plan: SessionUpdate = {
  sessionUpdate: 'plan',
  entries: (['completed', 'in_progress', 'pending'] as const).map((status) => ({ content: status, status, priority: 'low' })),
  _meta: { openagents: { planId: 'p', state: 'running' } },
};

/** A session whose log begins with these updates, attached to a bridge that says it is at rest. */
function session(...log: SessionUpdate[]): Session {
  const made = new Session('s');
  made.take(numbered(log));
  made.attached({ sessionId: 's', seq: log.length, running: false });
  return made;
}

function numbered(updates: SessionUpdate[], from = 1): Update[] {
  return updates.map((update, at) => ({ params: { sessionId: 's', update }, seq: from + at, ts: from + at, bytes: 1 }));
}

describe('a prompt over a link that breaks', () => {
  test('that did not arrive is back in the composer, and nothing works', () => {
    const one = session(said('hello'));
    const sent = one.sending('what now?');
    expect([one.working, one.pending, one.waitingSince]).toEqual([true, ['what now?'], expect.any(Number)]);
    one.cutOff(sent);
    expect([one.problem, one.pending, one.waitingSince]).toEqual([null, ['what now?'], null]);
    one.attached({ sessionId: 's', seq: 1, running: false });
    expect([one.problem, one.draft, one.pending, one.working]).toEqual(['Your prompt did not arrive.', 'what now?', [], false]);
  });

  test('is not given up before the whole log is here', () => {
    const one = session(said('hello'));
    one.cutOff(one.sending('what now?'));
    one.attached({ sessionId: 's', seq: 3, running: false });
    expect([one.problem, one.caughtUp]).toEqual([null, false]);
    one.take(numbered([asked('what now?'), said('this')], 2));
    expect([one.problem, one.draft, one.pending, one.working]).toEqual([null, '', [], false]);
  });

  test('that did not arrive while another turn runs is back in the composer, and the turn goes on', () => {
    const one = session(said('hello'));
    one.cutOff(one.sending('what now?'));
    one.attached({ sessionId: 's', seq: 2, running: true });
    one.take(numbered([asked('of another client')], 2));
    expect([one.problem, one.draft, one.working]).toEqual(['Your prompt did not arrive.', 'what now?', true]);
  });

  test('that arrives after all leaves the composer again', () => {
    const one = session();
    one.cutOff(one.sending('what now?'));
    one.attached({ sessionId: 's', seq: 0, running: false });
    one.take(numbered([asked('what now?')]));
    expect([one.problem, one.draft, one.working]).toEqual([null, '', true]);
  });

  test('goes in front of what has been written since', () => {
    const one = session();
    const [first, second] = [one.sending('one'), one.sending('two')];
    one.cutOff(first);
    one.cutOff(second);
    one.draft = 'three';
    one.attached({ sessionId: 's', seq: 0, running: false });
    expect([one.problem, one.draft]).toEqual(['Your prompts did not arrive.', 'one\n\ntwo\n\nthree']);
  });

  test('that is sent on the new link is not mistaken for a lost one', () => {
    const one = session();
    one.sending('what now?');
    one.attached({ sessionId: 's', seq: 0, running: false });
    expect([one.problem, one.pending, one.working]).toEqual([null, ['what now?'], true]);
  });
});

describe('prompts that queue', () => {
  test('are shown until the log has them, and the first end is not the end of all', () => {
    const one = session();
    const [first, second] = [one.sending('one'), one.sending('two')];
    one.take(numbered([asked('one'), asked('two')]));
    expect([one.pending, one.rows.map((row) => row.kind)]).toEqual([[], ['user', 'user']]);
    one.ended(first);
    expect(one.working).toBe(true);
    one.ended(second);
    expect(one.working).toBe(false);
  });

  test('beyond the limit come back, and the running turn goes on', () => {
    const one = session();
    one.sending('one');
    one.refused(one.sending('nine'), '8 prompts are waiting already; cancel or wait.');
    expect([one.problem, one.draft, one.working, one.pending]).toEqual(['8 prompts are waiting already; cancel or wait.', 'nine', true, ['one']]);
  });
});

test('a session whose model says what it does is at work, until it says that it is done', () => {
  const one = session(asked('x'), said('This'));
  one.doing({ state: 'generating', tokens: 3, tokensPerSecond: 9 });
  expect(one.working).toBe(true);
  one.doing(null);
  expect(one.working).toBe(false);
});

test('the mode is what the bridge says, at the attach and in the log', () => {
  const one = new Session('s');
  one.attached({ sessionId: 's', seq: 0, running: false, mode: 'gptoss_20b' });
  expect(one.mode).toBe('gptoss_20b');
  one.take(numbered([{ sessionUpdate: 'current_mode_update', currentModeId: 'default_mode' }]));
  expect(one.mode).toBe('default_mode');
});

describe('a log that ends in the middle of a turn', () => {
  test('stands still when the bridge says that nothing runs', () => {
    const one = session(asked('x'), plan, call);
    expect([one.working, one.plan?.state]).toEqual([false, 'failed']);
    expect(one.plan?.steps.map((step) => [step.state, step.error])).toEqual([['done', undefined], ['not-run', 'not finished'], ['not-run', 'not run']]);
    expect((one.rows[1] as ToolRow).state).toBe('unfinished');
  });

  test('does not move again with the next prompt', () => {
    const one = session(asked('x'), plan, call);
    one.take(numbered([asked('y'), said('done', { ended: true })], 4));
    expect([one.working, (one.rows[1] as ToolRow).state]).toEqual([false, 'unfinished']);
  });

  test('still works while the bridge says so', () => {
    const one = session(asked('x'), plan, call);
    const other = new Session('s');
    other.take(numbered([asked('x'), plan, call]));
    other.attached({ sessionId: 's', seq: 3, running: true });
    expect([one.working, other.working, other.plan?.state]).toEqual([false, true, 'running']);
  });
});
