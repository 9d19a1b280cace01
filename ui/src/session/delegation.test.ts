import { describe, expect, test } from 'vitest';
import type { Approval } from '../connection/wire';
import { changes, delegation, filesTouched } from './delegation';
import type { Piece, Row, ToolRow } from './rows';

const row = (more: Partial<ToolRow> = {}): ToolRow => ({
  kind: 'tool',
  key: 'td',
  seqs: [1],
  ts: 0,
  callId: 'd',
  name: 'delegate.run',
  title: null,
  work: 'other',
  locations: [],
  content: [],
  approvals: [],
  state: 'running',
  args: {},
  truncated: false,
  timedOut: false,
  late: false,
  ...more,
});
const report = (more: object): Partial<ToolRow> => ({
  state: 'done',
  output: { ok: true, provider: 'codex', dispatched: true, tool_call_id: 'd', notes: '', ...more },
});
const child = (...rows: Row[]): Partial<ToolRow> => ({ delegate: { sessionId: 'kid', rows, mode: null } });
const pending = { id: 'a', state: 'pending' } as Approval;

describe('a delegation is', () => {
  test.each<[string, Partial<ToolRow>, string]>([
    ['starting before its session says anything', {}, 'starting'],
    ['working', child(), 'working'],
    ['waiting when its agent asks', child(row({ approvals: [pending] })), 'waiting'],
    ['done', report({}), 'done'],
    ['a dry run', report({ dispatched: false }), 'dry-run'],
    ['refused', report({ ok: false, dispatched: false, notes: 'there is no provider x' }), 'failed'],
    ['cancelled', { state: 'failed', error: 'cancelled by the user' }, 'cancelled'],
    ['cancelled by its report', report({ ok: false, notes: 'Cancelled.' }), 'cancelled'],
    ['failed', { state: 'failed', error: 'Codex ended with 1' }, 'failed'],
    ['unfinished', { state: 'unfinished' }, 'unfinished'],
  ])('%s', (_name, more, state) => expect(delegation(row(more)).state).toBe(state));

  test.each<[Partial<ToolRow>, string]>([
    [{}, 'auto'],
    [{ name: 'codex.run' }, 'codex'],
    [{ args: { provider: 'auto' }, ...report({ provider: 'gptoss' }) }, 'gptoss'],
    [{ args: { provider: 'auto' }, delegate: { sessionId: 'kid', rows: [], mode: 'claude-code' } }, 'claude-code'],
    [{ args: { provider: 7 } }, 'auto'],
  ])('the provider of a delegation: %j', (more, provider) => expect(delegation(row(more)).provider).toBe(provider));

  test("the failure text omits the sign that the card's icon replaces", () => {
    expect(delegation(row(report({ ok: false, notes: '❌ ❌ Codex ended' }))).notes).toBe('Codex ended');
  });

  test('the limits are shown', () => {
    const args = { user_prompt: 'Do it', files_include_glob: ['src/**', 7], max_files: 3, time_budget_ms: 120_000 };
    expect(delegation(row({ args }))).toMatchObject({
      prompt: 'Do it',
      limits: ['Only src/**', '3 files at most', '2 min of time'],
    });
  });
});

describe('changes of a delegation', () => {
  const diff = (path: string, before: string | null, after: string): Piece => ({
    type: 'diff',
    path,
    before,
    after,
    truncated: false,
  });
  const edit = (...content: Piece[]): ToolRow => row({ work: 'edit', state: 'done', content });

  test('are merged if one continues the other, and dropped if undone', () => {
    expect(changes([edit(diff('a', '1', '2')), edit(diff('b', null, 'x')), edit(diff('a', '2', '3'))])).toEqual([
      diff('a', '1', '3'),
      diff('b', null, 'x'),
    ]);
    expect(changes([edit(diff('a', '1', '2')), edit(diff('a', '2', '1'))])).toEqual([]);
  });

  test('are listed once when shown twice', () => {
    expect(changes([edit(diff('a', '1', '2'), diff('a', '1', '2'))])).toEqual([diff('a', '1', '2')]);
  });

  test('leave out failed and read-only calls', () => {
    const rows = [
      row({ work: 'edit', state: 'failed', content: [diff('no', '1', '2')] }),
      row({ work: 'read', state: 'done', locations: [{ path: 'read' }] }),
      row({ work: 'delete', state: 'done', locations: [{ path: 'gone' }] }),
      edit(diff('a', '1', '2')),
    ];
    expect(filesTouched(rows)).toEqual(['gone', 'a']);
    expect(changes(rows).map(({ path }) => path)).toEqual(['a']);
  });
});
