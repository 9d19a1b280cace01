import { describe, expect, test } from 'vitest';
import type { Update } from '../connection/protocol';
import type { Approval, AttachResult, SessionUpdate } from '../connection/wire';
import type { ToolRow } from './rows';
import { busy, Session, type Sent, type Signs } from './session.svelte';

const text = (value: string) => ({ type: 'text' as const, text: value });
const asked = (value: string, sent?: Sent): SessionUpdate => ({
  sessionUpdate: 'user_message_chunk',
  content: text(value),
  ...(sent === undefined ? {} : { _meta: { openagents: { promptId: sent.promptId } } }),
});
const said = (value: string, meta: object = {}): SessionUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  content: text(value),
  _meta: { openagents: meta },
});
const call: SessionUpdate = {
  sessionUpdate: 'tool_call',
  toolCallId: 'c',
  title: 'search.grep',
  kind: 'search',
  status: 'in_progress',
};
const plan: SessionUpdate = {
  sessionUpdate: 'plan',
  entries: (['completed', 'in_progress', 'pending'] as const).map((status) => ({
    content: status,
    status,
    priority: 'low',
  })),
  _meta: { openagents: { planId: 'p', state: 'running' } },
};

const attach = (seq: number, running: boolean, more: Partial<AttachResult> = {}): AttachResult => ({
  sessionId: 's',
  seq,
  running,
  mode: 'default_mode',
  title: null,
  snapshot: null,
  approvals: [],
  queue: [],
  ...more,
});

/** A session with these updates, attached to a bridge at rest. */
function session(...log: SessionUpdate[]): Session {
  const made = new Session('s');
  made.take(numbered(log));
  made.attached(attach(log.length, false));
  return made;
}

function numbered(updates: SessionUpdate[], from = 1): Update[] {
  return updates.map((update, at) => ({ params: { sessionId: 's', update }, seq: from + at, ts: from + at, bytes: 1 }));
}

describe('a prompt on a connection that breaks', () => {
  test('that was not received returns to the composer, and nothing is running', () => {
    const one = session(said('hello'));
    const sent = one.sending('what now?');
    expect([one.working, one.pending, one.waitingSince]).toEqual([true, ['what now?'], expect.any(Number)]);
    one.cutOff(sent);
    expect([one.problem, one.pending, one.waitingSince]).toEqual([null, ['what now?'], null]);
    one.attached(attach(1, false));
    expect([one.problem, one.draft, one.pending, one.working]).toEqual([
      "Not sent; it's back in the composer.",
      'what now?',
      [],
      false,
    ]);
  });

  test('is not given up before the whole log is loaded', () => {
    const one = session(said('hello'));
    const sent = one.sending('what now?');
    one.cutOff(sent);
    one.attached(attach(3, false));
    expect([one.problem, one.caughtUp]).toEqual([null, false]);
    one.take(numbered([asked('what now?', sent), said('this')], 2));
    expect([one.problem, one.draft, one.pending, one.working]).toEqual([null, '', [], false]);
  });

  test('that was not received during another turn returns to the composer, and the turn continues', () => {
    const one = session(said('hello'));
    one.cutOff(one.sending('what now?'));
    one.attached(attach(2, true));
    one.take(numbered([asked('of another client')], 2));
    expect([one.problem, one.draft, one.working]).toEqual(["Not sent; it's back in the composer.", 'what now?', true]);
  });

  test('that was received after all leaves the composer again', () => {
    const one = session();
    const sent = one.sending('what now?');
    one.cutOff(sent);
    one.attached(attach(0, false));
    one.take(numbered([asked('what now?', sent)]));
    expect([one.problem, one.draft, one.working]).toEqual([null, '', true]);
  });

  test('is put before newer text', () => {
    const one = session();
    const [first, second] = [one.sending('one'), one.sending('two')];
    one.cutOff(first);
    one.cutOff(second);
    one.draft = 'three';
    one.attached(attach(0, false));
    expect([one.problem, one.draft]).toEqual(["Not sent; they're back in the composer.", 'one\n\ntwo\n\nthree']);
  });

  test('that is sent on the new connection is not mistaken for a lost one', () => {
    const one = session();
    one.sending('what now?');
    one.attached(attach(0, false));
    expect([one.problem, one.pending, one.working]).toEqual([null, ['what now?'], true]);
  });
});

describe('queued prompts', () => {
  test('are shown until the log has them, beyond the end of the first turn', () => {
    const one = session();
    const [first, second] = [one.sending('one'), one.sending('two')];
    one.take(numbered([asked('one', first), asked('two', second)]));
    expect([one.pending, one.rows.map((row) => row.kind)]).toEqual([[], ['user', 'user']]);
    one.ended(first);
    expect(one.working).toBe(true);
    one.ended(second);
    expect(one.working).toBe(false);
  });

  test('beyond the limit come back, and the running turn continues', () => {
    const one = session();
    one.sending('one');
    one.refused(one.sending('nine'), '8 prompts are waiting already; cancel or wait.');
    expect([one.problem, one.draft, one.working, one.pending]).toEqual([
      '8 prompts are waiting already; cancel or wait.',
      'nine',
      true,
      ['one'],
    ]);
  });
});

/** The rest of the entries up to `seq`. */
function folded(seq: number, update: SessionUpdate, meta: object = {}): Update {
  return {
    params: { sessionId: 's', update, _meta: { openagents: { seq, ts: seq, folded: true, ...meta } } },
    seq,
    ts: seq,
    bytes: 1,
  };
}

describe('a long log comes as a snapshot', () => {
  const answer = attach(5000, false, { snapshot: { seq: 5000, since: 0 } });
  const state = [
    folded(4000, asked('x')),
    folded(4900, { ...call, status: 'completed', rawOutput: { total: 1 } }, { lastTs: 9000 }),
    folded(4200, said('This is it.')),
  ];

  test('the shown state stays until it is complete, then the log continues', () => {
    const one = session(said('old'));
    one.attaching();
    one.attached(answer);
    expect([one.caughtUp, one.catchingUp, one.rows.length]).toEqual([false, 5000, 1]);
    one.take(state);
    expect([one.caughtUp, one.catchingUp, one.rows.map((row) => row.kind)]).toEqual([false, 100, ['message']]);
    one.snapshotEnded(5000);
    expect([one.caughtUp, one.catchingUp, one.seq, one.updates]).toEqual([true, 0, 5000, 5000]);
    expect(one.rows).toMatchObject([
      { text: 'x' },
      { kind: 'tool', state: 'done', output: { total: 1 }, ts: 4900, endedAt: 9000 },
      { text: 'This is it.' },
    ]);
    expect(one.take(numbered([said('More.')], 5001))).toBe(true);
    expect(one.take(numbered([said('Later.')], 5003))).toBe(false);
    expect(one.rows.at(-1)).toMatchObject({ text: 'This is it.More.' });
  });

  test('part or all of it may arrive before the answer', () => {
    for (const overtaking of [1, 3]) {
      const one = session(said('old'));
      one.attaching();
      one.take(state.slice(0, overtaking));
      if (overtaking === 3) one.snapshotEnded(5000);
      one.attached(answer);
      one.take(state.slice(overtaking));
      one.snapshotEnded(5000);
      expect([one.rows.length, one.seq, one.caughtUp]).toEqual([3, 5000, true]);
    }
  });

  test('that is interrupted is requested again from the last entry', () => {
    const one = session(said('old'));
    one.attaching();
    one.attached(answer);
    one.take(state.slice(0, 2));
    expect([one.attaching(), one.rows.length]).toEqual([1, 1]);
    one.attached(answer);
    one.take(state);
    one.snapshotEnded(5000);
    expect(one.rows.length).toBe(3);
  });

  test('pending questions are in the answer, whatever the log has', () => {
    const one = new Session('s');
    const approval = {
      id: 'a',
      callId: 'c',
      agent: 'Fake',
      title: 'Run',
      hash: '',
      options: [],
      state: 'pending',
      askedAt: 1,
    } satisfies Approval;
    one.attaching();
    one.attached({ ...answer, running: true, approvals: [approval] });
    one.take(state);
    one.snapshotEnded(5000);
    expect(one.waiting).toMatchObject([{ key: 'tc', approval: { id: 'a' } }]);
  });
});

/** Regression: the spinner of a page that watches stayed, because its model's last activity did. */
test('a session that became idle while the page was away is idle, with or without a snapshot', () => {
  const one = session(asked('x'));
  one.doing({ state: 'generating', tokens: 3, tokensPerSecond: 9 });
  one.attaching();
  one.attached(attach(5000, false, { snapshot: { seq: 5000, since: 0 } }));
  one.take([folded(5000, said('This is it.', { ended: true }))]);
  one.snapshotEnded(5000);
  expect([one.caughtUp, one.activity, one.working]).toEqual([true, null, false]);
});

test('only the newest updates of a long log are kept as received', () => {
  const one = new Session('s');
  one.take(numbered([said('one'), said('two'), said('three')]).map((update) => ({ ...update, bytes: 600_000 })));
  expect([1, 2, 3].map((seq) => one.update(seq)?.seq)).toEqual([undefined, undefined, 3]);
});

describe('a prompt in the log', () => {
  const echo = (text: string, meta: object): SessionUpdate =>
    ({ ...asked(text), messageId: 'q', _meta: { openagents: meta } }) as SessionUpdate;

  test('is identified by its id, not by its text', () => {
    const one = session();
    const sent = one.sending('same');
    one.take(numbered([echo('same', { connection: 'c2', client: 'Phone', promptId: 'other' })]));
    expect([one.pending, one.rows.length]).toEqual([['same'], 1]);
    one.take(numbered([echo('same', { connection: 'c1', client: 'Desktop', promptId: sent.promptId })], 2));
    expect([one.pending, one.rows.length]).toEqual([[], 2]);
  });

  test("of a client without ids is not another client's", () => {
    const one = session();
    one.sending('same');
    one.take(numbered([echo('same', { connection: 'c2', client: 'Phone' })]));
    expect(one.pending).toEqual(['same']);
  });

  test('that was removed from the queue is marked, without its own row', () => {
    const one = session();
    one.take(
      numbered([
        echo('one', {}),
        { ...asked(''), messageId: 'q', _meta: { openagents: { removed: true } } } as SessionUpdate,
      ]),
    );
    expect(one.rows).toMatchObject([{ text: 'one', removed: true, seqs: [1, 2] }]);
  });

  test("sent while others are queued continues after this page's own has ended", () => {
    const one = session();
    const sent = one.sending('one');
    one.queued([{ id: 'q', text: 'two', by: 'Phone' }], true);
    one.take(numbered([asked('one', sent)]));
    one.ended(sent);
    expect(one.working).toBe(true);
    one.queued([], true);
    expect(one.working).toBe(true);
    one.rests();
    expect(one.working).toBe(false);
  });
});

test('Working ends with the turn even if the list reported the end while a prompt was queued', () => {
  const one = session();
  const sent = one.sending('one');
  one.queued([{ id: 'q', text: 'two', by: 'Phone' }], true);
  one.take(numbered([asked('one', sent), said('done', { ended: true })]));
  one.ended(sent);
  one.rests();
  one.queued([], false);
  expect(one.working).toBe(false);
  one.queued([], true);
  expect(one.working).toBe(true);
});

test('a stale answer to an attach removes nothing', () => {
  const one = session(asked('one'), said('two'));
  one.attaching();
  one.take(numbered([said('three')], 3));
  one.attached(attach(2, true));
  expect([one.seq, one.rows.length, one.update(1)?.seq]).toEqual([3, 2, 1]);
});

test('a log shorter than the shown one arrives as a snapshot and replaces it', () => {
  const one = session(asked('one'), said('two'), said('three'));
  expect(one.attaching()).toBe(3);
  one.attached(attach(1, false, { snapshot: { seq: 1, since: 0 } }));
  one.take([folded(1, asked('other'))]);
  one.snapshotEnded(1);
  expect([one.seq, one.rows.length, one.caughtUp, one.rows[0]]).toMatchObject([1, 1, true, { text: 'other' }]);
});

test('a session is working while its model reports activity', () => {
  const one = session(asked('x'), said('This'));
  one.doing({ state: 'generating', tokens: 3, tokensPerSecond: 9 });
  expect(one.working).toBe(true);
  one.doing(null);
  expect(one.working).toBe(false);
});

test('the mode comes from the attach and from the log', () => {
  const one = new Session('s');
  one.attached(attach(0, false, { mode: 'gptoss_20b' }));
  expect(one.mode).toBe('gptoss_20b');
  one.take(numbered([{ sessionUpdate: 'current_mode_update', currentModeId: 'default_mode' }]));
  expect(one.mode).toBe('default_mode');
});

describe('a log that ends in the middle of a turn', () => {
  test('is settled when the bridge says that nothing is running', () => {
    const one = session(asked('x'), plan, call);
    expect([one.working, one.plan?.state]).toEqual([false, 'failed']);
    expect(one.plan?.steps.map((step) => [step.state, step.error])).toEqual([
      ['done', undefined],
      ['not-run', 'not finished'],
      ['not-run', 'not run'],
    ]);
    expect((one.rows[1] as ToolRow).state).toBe('unfinished');
  });

  test('stays settled with the next prompt', () => {
    const one = session(asked('x'), plan, call);
    one.take(numbered([asked('y'), said('done', { ended: true })], 4));
    expect([one.working, (one.rows[1] as ToolRow).state]).toEqual([false, 'unfinished']);
  });

  test('is running while the bridge says so', () => {
    const one = session(asked('x'), plan, call);
    const other = new Session('s');
    other.take(numbered([asked('x'), plan, call]));
    other.attached(attach(3, true));
    expect([one.working, other.working, other.plan?.state]).toEqual([false, true, 'running']);
  });
});

const REST: Signs = { turn: false, active: false, sent: [], request: null, workUpdates: 7, stored: false };
const [SENT, ADRIFT] = [{ adrift: false }, { adrift: true }];

test.each<[string, Partial<Signs>, boolean, number | null]>([
  ['at rest', {}, false, null],
  ['a turn', { turn: true }, true, null],
  ['the turn of a stored copy', { turn: true, stored: true }, false, null],
  ['a model that is active outside a turn', { active: true }, true, null],
  ['a prompt that was sent', { sent: [SENT] }, true, null],
  ['a prompt whose connection broke', { sent: [ADRIFT] }, false, null],
  ['one that was sent after it', { sent: [ADRIFT, SENT] }, true, null],
  ['a request without news', { sent: [SENT], request: { since: 100, workUpdates: 7 } }, true, 100],
  ['a request with news', { sent: [SENT], request: { since: 100, workUpdates: 6 } }, true, null],
  ['an exploration without news', { request: { since: 100, workUpdates: 7 } }, true, 100],
  ['an exploration with news whose turn is over', { request: { since: 100, workUpdates: 6 } }, false, null],
])('%s', (_name, signs, working, waitingSince) =>
  expect(busy({ ...REST, ...signs })).toEqual({ working, waitingSince }),
);
