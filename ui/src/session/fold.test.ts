import { describe, expect, test } from 'vitest';
import type { Update } from '../connection/protocol';
import type { Approval, SessionUpdate, Summary } from '../connection/wire';
import { findRow, type Row, type ToolRow } from './rows';
import { apply, applyFolded, emptyFold, publish, settle, type Fold } from './fold';

const text = (value: string) => ({ type: 'text' as const, text: value });
const said = (value: string, meta: object = {}): SessionUpdate => ({
  sessionUpdate: 'agent_message_chunk',
  content: text(value),
  _meta: { openagents: meta },
});
const asked = (value: string): SessionUpdate => ({ sessionUpdate: 'user_message_chunk', content: text(value) });
const call = (id: string, name = 'search.grep', meta: object = {}): SessionUpdate => ({
  sessionUpdate: 'tool_call',
  toolCallId: id,
  title: name,
  kind: 'search',
  status: 'pending',
  rawInput: { pattern: 'x' },
  _meta: { openagents: meta },
});
const news = (
  id: string,
  status: 'in_progress' | 'completed' | 'failed',
  meta: object = {},
  rawOutput?: unknown,
): SessionUpdate => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: id,
  status,
  ...(rawOutput === undefined ? {} : { rawOutput }),
  _meta: { openagents: meta },
});
const plan = (state: string): SessionUpdate => ({
  sessionUpdate: 'plan',
  entries: [{ content: 'a', status: state === 'running' ? 'in_progress' : 'completed', priority: 'low' }],
  _meta: { openagents: { planId: 'p', state } },
});

function numbered(updates: SessionUpdate[], from = 1): Update[] {
  return updates.map((update, at) => ({
    params: { sessionId: 's', update },
    seq: from + at,
    ts: 1000 + 10 * (from + at),
    bytes: 1,
  }));
}

function folded(...updates: SessionUpdate[]): Fold {
  const fold = emptyFold();
  for (const update of numbered(updates)) apply(fold, update);
  publish(fold);
  return fold;
}

const only = (fold: Fold): Row => {
  expect(fold.rows).toHaveLength(1);
  return fold.rows[0] as Row;
};

describe('tool rows', () => {
  test('are updated in place', () => {
    const row = only(
      folded(
        call('c'),
        news('c', 'in_progress', { progress: 0.5, note: 'processed 1/2' }),
        news('c', 'completed', {}, { total_matches: 1 }),
      ),
    );
    expect(row).toEqual({
      kind: 'tool',
      key: 'tc',
      seqs: [1, 2, 3],
      ts: 1010,
      callId: 'c',
      name: 'search.grep',
      title: null,
      work: 'search',
      locations: [],
      content: [],
      approvals: [],
      state: 'done',
      args: { pattern: 'x' },
      progress: 0.5,
      note: 'processed 1/2',
      output: { total_matches: 1 },
      truncated: false,
      timedOut: false,
      late: false,
      endedAt: 1030,
    });
  });

  test.each<[string, SessionUpdate, Partial<ToolRow>]>([
    [
      'the error of a failed call',
      news('c', 'failed', { error: 'File not found: a' }),
      { state: 'failed', error: 'File not found: a' },
    ],
    ['an error that stands in the output', news('c', 'failed', {}, { error: 'no' }), { error: 'no' }],
    ['a failure without a word', news('c', 'failed'), { error: 'The tool failed and gave no reason.' }],
    ['what was cut', news('c', 'completed', { truncated: true, timedOut: true }), { truncated: true, timedOut: true }],
    ['a progress beyond its bounds', news('c', 'in_progress', { progress: 7 }), { progress: 1 }],
    ['a late update', news('c', 'completed', { late: true }), { late: true }],
  ])('show %s', (_name, update, expected) => {
    expect(only(folded(call('c'), update))).toMatchObject(expected);
  });

  test('exist for updates without an announcement', () => {
    expect(only(folded(news('0123456789', 'in_progress')))).toMatchObject({ name: 'call 01234567…', state: 'running' });
  });

  test('keep their position when calls overlap', () => {
    const fold = folded(call('a'), call('b'), news('b', 'completed'), news('a', 'completed'));
    expect(fold.rows.map((row) => (row as ToolRow).callId)).toEqual(['a', 'b']);
  });
});

describe('messages', () => {
  test('join their chunks', () => {
    expect(only(folded(said('one '), said('two')))).toMatchObject({ text: 'one two', seqs: [1, 2] });
  });

  test('are separate when another row is between them', () => {
    expect(folded(said('one'), call('c'), said('two')).rows.map((row) => row.kind)).toEqual([
      'message',
      'tool',
      'message',
    ]);
  });

  test('are separate when they have different ids', () => {
    const one = { ...said('one'), messageId: 'm1' } as SessionUpdate;
    const two = { ...said('two'), messageId: 'm2' } as SessionUpdate;
    expect(folded(one, two).rows).toHaveLength(2);
  });

  test('with findings are separate', () => {
    const findings = { findings: [], hint: 'Try a name from the code' };
    const { rows } = folded(
      said('Looking.'),
      said('**Found:** nothing for `x`', { findings }),
      said('So there is none.'),
      said('', { findings }),
    );
    expect(rows).toMatchObject([
      { text: 'Looking.' },
      { text: '**Found:** nothing for `x`', findings },
      { text: 'So there is none.' },
      { text: '', findings },
    ]);
  });

  test('carry the summary', () => {
    const summary = { repository: 'r', source: 'readme' } as Summary;
    expect(only(folded(said('x', { summary })))).toMatchObject({ summary });
  });

  test('end with their statistics, whose chunk may be empty', () => {
    const usage = { promptTokens: 9, cachedTokens: 0, tokens: 2, tokensPerSecond: 3, firstTokenMs: 4, memoryBytes: 5 };
    const rows = folded(said('one'), said('', { usage }), said('two')).rows;
    expect(rows).toMatchObject([{ text: 'one', usage, seqs: [1, 2] }, { text: 'two' }]);
    expect(folded(call('c'), said('', { usage })).rows.map((row) => row.kind)).toEqual(['tool']);
  });

  /** Regression: an answer that began with the sign of failures was shown as one. */
  test('mark a failed turn by a field, not by their text', () => {
    const sign = { ...said('❌ Three tests'), messageId: 'a' } as SessionUpdate;
    expect(only(folded(sign, { ...said(' fail.'), messageId: 'a' } as SessionUpdate))).toMatchObject({
      text: '❌ Three tests fail.',
      failed: false,
    });
    expect(only(folded(said('❌ no', { ended: true, failed: true })))).toMatchObject({ failed: true });
  });

  test('of the user are one row each', () => {
    expect(folded(asked('a'), asked('b')).rows).toHaveLength(2);
  });

  test('that are not text name their kind', () => {
    expect(
      only(
        folded({ sessionUpdate: 'agent_message_chunk', content: { type: 'image', data: '', mimeType: 'image/png' } }),
      ),
    ).toMatchObject({ text: '[Image]' });
  });

  test('carry the images that can be drawn', () => {
    const image = (mimeType: string) => ({ type: 'image' as const, data: 'AA==', mimeType });
    const of = (sessionUpdate: 'agent_message_chunk' | 'user_message_chunk', mimeType: string) =>
      ({ sessionUpdate, messageId: 'a', content: image(mimeType) }) as SessionUpdate;
    const png = { mimeType: 'image/png', data: 'AA==' };
    expect(
      only(folded(of('agent_message_chunk', 'image/png'), { ...said('Here.'), messageId: 'a' } as SessionUpdate)),
    ).toMatchObject({ text: 'Here.', pictures: [png] });
    expect(
      only(folded({ ...asked('This?'), messageId: 'a' } as SessionUpdate, of('user_message_chunk', 'image/png'))),
    ).toMatchObject({ text: 'This?', pictures: [png] });
    expect(only(folded(of('user_message_chunk', 'image/svg+xml')))).toMatchObject({ text: '[Image]' });
    const result: SessionUpdate = {
      sessionUpdate: 'tool_call',
      toolCallId: 'c',
      title: 'Shot',
      content: [{ type: 'content', content: image('image/webp') }],
    };
    expect(only(folded(result))).toMatchObject({ content: [{ type: 'image', picture: { mimeType: 'image/webp' } }] });
  });
});

test('plans and titles are not rows', () => {
  const fold = folded(plan('running'), { sessionUpdate: 'session_info_update', title: 'T' });
  expect([fold.rows.length, fold.plan?.state, fold.title, fold.updates]).toEqual([0, 'running', 'T', 2]);
});

test('an unknown kind of update is counted', () => {
  expect(folded({ sessionUpdate: 'something_new' } as unknown as SessionUpdate).updates).toBe(1);
});

describe('a turn is running', () => {
  test.each<[string, SessionUpdate[], boolean]>([
    ['from the prompt on', [asked('x')], true],
    ['while the plan runs', [plan('running')], true],
    ['while a call is open', [call('c')], true],
    [
      'between the last op and the final message',
      [plan('running'), call('c'), news('c', 'completed'), plan('complete')],
      true,
    ],
    ['until the final message', [plan('running'), plan('complete'), said('done', { ended: true })], false],
    ['while an agent speaks', [asked('x'), said('one '), said('two')], true],
    [
      'until the last message of an agent, which may be empty',
      [asked('x'), said('one'), said('', { ended: true })],
      false,
    ],
    ['whatever came late', [asked('x'), said('old', { late: true, ended: true })], true],
    ['until a run that could not start says so', [said('❌ no', { ended: true })], false],
    [
      'not because of a call that comes with its result',
      [{ ...call('c'), status: 'completed' } as SessionUpdate],
      false,
    ],
    ['not because of a late call', [said('Exploration cancelled.'), call('c', 'search.grep', { late: true })], false],
  ])('%s', (_name, updates, expected) => {
    expect(folded(...updates).working).toBe(expected);
  });
});

describe('the log', () => {
  test('applies nothing twice', () => {
    const fold = emptyFold();
    const batch = numbered([asked('a'), said('b')]);
    expect([...batch, ...batch].map((update) => apply(fold, update))).toEqual(['taken', 'taken', 'again', 'again']);
    expect([fold.rows.length, fold.updates, fold.seq]).toEqual([2, 2, 2]);
  });

  test('detects a gap and applies nothing after it', () => {
    const fold = emptyFold();
    const [first] = numbered([asked('a')]);
    const [fourth] = numbered([said('d')], 4);
    expect([apply(fold, first as Update), apply(fold, fourth as Update)]).toEqual(['taken', 'gap']);
    expect(fold.seq).toBe(1);
  });
});

test.each([
  [['Exploration cancelled.', 'Cancelled before it began.', 'Cancelled before it began.']],
  [['one', 'Cancelled before it began.', 'two']],
  [['❌ The first failed.', '❌ The second failed.']],
])('closing texts of turns, which have ids of their own, are separate messages: %j', (words) => {
  const closing = words.map((word, at) => ({ ...said(word, { ended: true }), messageId: String(at) }) as SessionUpdate);
  expect(folded(...closing).rows.map((row) => row.kind === 'message' && row.text)).toEqual(words);
});

describe('calls of agents', () => {
  const edit = (more: object = {}): SessionUpdate => ({
    sessionUpdate: 'tool_call',
    toolCallId: 'c',
    name: 'Edit',
    title: 'Edit a.rs',
    kind: 'edit',
    status: 'pending',
    locations: [{ path: '/w/a.rs', line: 3 }],
    ...more,
  });
  const shows = (more: object): SessionUpdate => ({ sessionUpdate: 'tool_call_update', toolCallId: 'c', ...more });

  test('show what they do and where', () => {
    expect(only(folded(edit()))).toMatchObject({
      name: 'Edit',
      title: 'Edit a.rs',
      work: 'edit',
      locations: [{ path: '/w/a.rs', line: 3 }],
    });
  });

  test('without a tool name are named by their title', () => {
    expect(only(folded(edit({ name: undefined, title: 'Look around' })))).toMatchObject({
      name: 'Look around',
      title: 'Look around',
    });
    expect(only(folded(edit({ name: undefined, title: 'fs.list_dir' })))).toMatchObject({
      name: 'fs.list_dir',
      title: null,
    });
  });

  test('keep fields that an update leaves out and take the others', () => {
    const diff = { type: 'diff', path: '/w/a.rs', oldText: 'a', newText: 'b' };
    const terminal = {
      type: 'terminal',
      terminalId: 't',
      _meta: { openagents: { terminal: { command: 'ls', output: 'a', truncated: false, exitCode: 2, signal: null } } },
    };
    const row = only(
      folded(
        edit({ content: [diff] }),
        shows({ title: 'Edit b.rs' }),
        shows({ status: 'completed' }),
        shows({ content: [terminal, { type: 'content', content: text('done') }] }),
      ),
    );
    expect(row).toMatchObject({
      title: 'Edit b.rs',
      work: 'edit',
      state: 'done',
      endedAt: 1030,
      locations: [{ path: '/w/a.rs', line: 3 }],
      content: [
        { type: 'diff', path: '/w/a.rs', before: 'a', after: 'b', truncated: false },
        { type: 'terminal', id: 't', command: 'ls', output: 'a', truncated: false, exitCode: 2, signal: null },
        { type: 'text', text: 'done' },
      ],
    });
    expect(only(folded(edit({ content: [diff] })))).toMatchObject({
      content: [{ type: 'diff', path: '/w/a.rs', before: 'a', after: 'b', truncated: false }],
    });
  });

  test('keep the change when the file is compared with itself afterwards', () => {
    const diff = (oldText: string | null): object => ({ type: 'diff', path: '/w/a.rs', oldText, newText: 'b' });
    const row = folded(edit({ content: [diff(null)] }), shows({ status: 'completed', content: [diff('b')] }));
    expect(only(row)).toMatchObject({ content: [{ type: 'diff', before: null, after: 'b', truncated: false }] });
  });

  test('with unknown content are rows too', () => {
    expect(only(folded(edit({ content: [{ type: 'hologram' }] })))).toMatchObject({ content: [] });
  });
});

describe('approvals', () => {
  const approval = (id: string, more: Partial<Approval> = {}): Approval =>
    ({
      id,
      callId: 'c',
      agent: 'Codex',
      title: 'Run ls',
      hash: 'h',
      options: [{ id: 'yes', name: 'Allow', kind: 'allow_once' }],
      state: 'pending',
      askedAt: 1,
      ...more,
    }) as Approval;
  const asks = (state: Approval): SessionUpdate => ({
    sessionUpdate: 'tool_call_update',
    toolCallId: state.callId,
    _meta: { openagents: { approval: state } },
  });
  const answered = approval('a', { state: 'answered', optionId: 'yes', by: 'Phone', at: 2 });

  test('belong to the waiting call, the newest state per id', () => {
    const fold = folded(call('c'), asks(approval('a')), asks(approval('b')), asks(answered));
    expect(only(fold)).toMatchObject({ state: 'pending', approvals: [answered, approval('b')] });
    expect([...fold.asked.values()]).toEqual([
      { sessionId: null, key: 'tc', approval: answered },
      { sessionId: null, key: 'tc', approval: approval('b') },
    ]);
  });

  test('have a row if their call was not announced', () => {
    expect(only(folded(asks(approval('a'))))).toMatchObject({ name: 'Run ls', approvals: [approval('a')] });
  });

  test('neither end a call nor restart an ended one', () => {
    const fold = folded(call('c'), asks(approval('a')), news('c', 'completed'), asks(answered));
    expect(only(fold)).toMatchObject({ state: 'done', endedAt: 1030 });
    expect(fold.open.size).toBe(0);
  });

  test("of a sub-agent's call are the session's own, in the row of that call", () => {
    const fold = emptyFold();
    const updates = numbered([call('d', 'subagent.run'), call('c'), asks(approval('a'))]);
    const [, inner] = updates as [Update, Update];
    inner.params._meta = { openagents: { parentCallId: 'd', childSessionId: 'kid' } };
    for (const update of updates) apply(fold, update);
    publish(fold);
    expect([...fold.asked.values()]).toMatchObject([{ sessionId: null, key: 'td/tc' }]);
    expect(only(fold)).toMatchObject({ delegate: { rows: [{ callId: 'c', approvals: [{ id: 'a' }] }] } });
  });

  test('of a delegate name its session', () => {
    const fold = emptyFold();
    const updates = numbered([call('d', 'delegate.run'), call('c'), asks(approval('a'))]);
    updates
      .slice(1)
      .forEach((update) => (update.params._meta = { openagents: { parentCallId: 'd', childSessionId: 'kid' } }));
    for (const update of updates) apply(fold, update);
    expect([...fold.asked.values()]).toMatchObject([{ sessionId: 'kid', key: 'td/tc' }]);
  });
});

describe('delegates', () => {
  function delegating(...updates: SessionUpdate[]): Fold {
    const fold = emptyFold();
    const all = numbered([call('d', 'delegate.run'), ...updates]);
    all
      .slice(1)
      .forEach((update) => (update.params._meta = { openagents: { parentCallId: 'd', childSessionId: 'kid' } }));
    for (const update of all) apply(fold, update);
    publish(fold);
    return fold;
  }

  test('are shown inside the call that started them', () => {
    const fold = delegating(asked('Do it'), said('I '), said('do'), call('d'), {
      sessionUpdate: 'current_mode_update',
      currentModeId: 'codex',
    });
    const row = only(fold) as ToolRow;
    expect(row).toMatchObject({ callId: 'd', seqs: [1], delegate: { sessionId: 'kid', mode: 'codex' } });
    expect(row.delegate?.rows.map((inner) => [inner.kind, inner.key, inner.seqs])).toEqual([
      ['user', 'td/u1', [2]],
      ['message', 'td/m2', [3, 4]],
      ['tool', 'td/td', [5]],
    ]);
    expect(findRow(fold.rows, 'td/td')).toMatchObject({ callId: 'd', seqs: [5] });
    expect([fold.mode, fold.working]).toEqual([null, true]);
  });

  test('end with the turn that started them', () => {
    const fold = delegating(call('c'));
    settle(fold);
    publish(fold);
    expect(only(fold)).toMatchObject({ state: 'unfinished', delegate: { rows: [{ state: 'unfinished' }] } });
  });

  test('are copied once per batch', () => {
    const fold = delegating(said('one'));
    const before = (only(fold) as ToolRow).delegate?.rows;
    const more = numbered([said('two', { ended: true }), call('c'), news('c', 'completed')], 3);
    for (const update of more) {
      update.params._meta = { openagents: { parentCallId: 'd', childSessionId: 'kid' } };
      apply(fold, update);
      expect((only(fold) as ToolRow).delegate?.rows).toBe(before);
    }
    publish(fold);
    expect((only(fold) as ToolRow).delegate?.rows).toMatchObject([{ text: 'onetwo' }, { callId: 'c', state: 'done' }]);
  });

  test('may send updates before their call', () => {
    const fold = emptyFold();
    const [update] = numbered([said('hello')]) as [Update];
    update.params._meta = { openagents: { parentCallId: 'd', childSessionId: 'kid' } };
    apply(fold, update);
    publish(fold);
    expect(only(fold)).toMatchObject({ kind: 'tool', callId: 'd', delegate: { rows: [{ text: 'hello' }] } });
  });
});

describe('late updates', () => {
  test('are separate from the running turn and do not split it', () => {
    const rows = folded(
      asked('next'),
      said('an'),
      said('old ', { late: true }),
      said('swer'),
      said('news', { late: true }),
    ).rows;
    expect(rows.slice(1)).toMatchObject([
      { text: 'answer', late: false },
      { text: 'old news', late: true },
    ]);
  });

  test('are separate from earlier messages', () => {
    expect(folded(said('in time'), said('late', { late: true })).rows).toHaveLength(2);
  });
});

describe('thoughts', () => {
  const thinks = (value: string): SessionUpdate => ({ sessionUpdate: 'agent_thought_chunk', content: text(value) });

  test('last until something else follows', () => {
    expect(folded(thinks('a'), thinks('b'), said('c')).rows[0]).toMatchObject({
      kind: 'thought',
      text: 'ab',
      ts: 1010,
      endedAt: 1030,
    });
    expect(folded(thinks('a')).rows[0]).not.toHaveProperty('endedAt');
  });

  test("are the same in a folded log, where a call's update between two of them is folded into the call", () => {
    const whole = folded(call('c'), thinks('a'), thinks('b'), news('c', 'completed'), thinks('c'), said('d'));
    const short = emptyFold();
    const [announced, a, c, d] = numbered([
      { ...call('c'), status: 'completed' } as SessionUpdate,
      thinks('ab'),
      thinks('c'),
      said('d'),
    ]);
    for (const [update, seq] of [
      [announced, 4],
      [a, 3],
      [c, 5],
      [d, 6],
    ] as [Update, number][]) {
      applyFolded(short, {
        ...update,
        seq,
        params: { ...update.params, _meta: { openagents: { seq, folded: true } } },
      });
    }
    const shown = ({ rows }: Fold): unknown[] =>
      rows.map((row) =>
        row.kind === 'tool'
          ? [row.kind, row.state]
          : [row.kind, row.kind === 'note' ? row.note : row.text, row.kind === 'thought' && row.endedAt !== undefined],
      );
    expect(shown(short)).toEqual(shown(whole));
    expect(shown(whole)).toEqual([
      ['tool', 'done'],
      ['thought', 'ab', true],
      ['thought', 'c', true],
      ['message', 'd', false],
    ]);
  });

  test('end with their turn', () => {
    const fold = folded(thinks('a'));
    settle(fold);
    expect(fold.rows[0]).toMatchObject({ endedAt: 1010 });
  });
});

test('a routing decision belongs to its prompt', () => {
  const routing = { target: 'gptoss', reason: 'Code is written by the local model.' };
  const decided = { sessionUpdate: 'session_info_update', _meta: { openagents: { routing } } } as SessionUpdate;
  const fold = folded({ sessionUpdate: 'session_info_update', title: 'T' }, asked('a'), decided, asked('b'));
  expect(fold.rows).toMatchObject([{ text: 'a', routing, seqs: [2, 3] }, { text: 'b' }]);
  expect(fold.title).toBe('T');
});

test('notes are rows that later updates replace', () => {
  const notice = (title: string, count: number): SessionUpdate => ({
    sessionUpdate: 'notice',
    severity: 'warning',
    title,
    _meta: { openagents: { id: title, count } },
  });
  const compaction = (status: string, more: object = {}): SessionUpdate => ({
    sessionUpdate: 'compaction_update',
    compactionId: 'c',
    status,
    ...more,
  });
  const plan = (content: string): SessionUpdate => ({
    sessionUpdate: 'plan_update',
    plan: { type: 'markdown', planId: 'p', content },
  });
  const fold = emptyFold();
  const updates = [
    notice('Slow', 1),
    compaction('in_progress'),
    plan('# One'),
    notice('Slow', 2),
    compaction('completed', { summary: [{ type: 'text', text: 'Done.' }] }),
    compaction('completed'),
    plan('# Two'),
    { sessionUpdate: 'plan_removed', planId: 'p' } as SessionUpdate,
  ];
  for (const update of numbered(updates)) apply(fold, update);
  expect(fold.rows.map((row) => (row.kind === 'note' ? row.note : row))).toEqual([
    { type: 'notice', severity: 'warning', title: 'Slow', description: '', count: 2 },
    { type: 'compaction', state: 'completed', summary: 'Done.', error: '' },
    { type: 'plan', text: '# Two', path: null, removed: true },
  ]);
  expect(fold.rows.map(({ seqs }) => seqs)).toEqual([
    [1, 4],
    [2, 5, 6],
    [3, 7, 8],
  ]);
});

test('edits are allowed until the turn ends', () => {
  const edits = (editsAllowed: boolean): SessionUpdate => ({
    sessionUpdate: 'session_info_update',
    _meta: { openagents: { agent: 'codex', editsAllowed } },
  });
  const fold = emptyFold();
  const seen: (string | null)[] = [];
  const updates = [asked('a'), edits(true), said('b'), edits(false), edits(true), said('', { ended: true })];
  for (const update of numbered(updates)) {
    apply(fold, update);
    seen.push(fold.edits);
  }
  expect(seen).toEqual([null, 'codex', 'codex', null, 'codex', null]);
  expect(fold.title).toBeNull();
});
