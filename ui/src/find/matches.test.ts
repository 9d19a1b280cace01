import { expect, test, vi } from 'vitest';
import { TextPattern } from '../kit/text';
import type { Piece, Row, ToolRow } from '../session/rows';
import { countIn, countInRow, foldsAround, Found, Scan } from './matches';
import { withoutMarkup } from './row-text';

const base = { seqs: [1], ts: 0 };
const tool = (more: Partial<ToolRow>): ToolRow => ({
  ...base,
  kind: 'tool',
  key: 't1',
  callId: '1',
  name: 'shell',
  title: 'Run it',
  work: 'execute',
  locations: [],
  content: [],
  approvals: [],
  state: 'done',
  args: {},
  truncated: false,
  timedOut: false,
  late: false,
  ...more,
});
const says = (text: string): Row => ({
  ...base,
  kind: 'message',
  key: 'm1',
  text,
  messageId: null,
  failed: false,
  late: false,
});
const thinks = (text: string): Row => ({ ...base, kind: 'thought', key: 'h1', text, messageId: null, late: false });
const asks = (text: string): Row => ({ ...base, kind: 'user', key: 'u1', text, messageId: null, removed: false });
const terminal: Piece = {
  type: 'terminal',
  id: 'x',
  command: 'cargo test',
  output: '\u001b[32mNeedle\u001b[0m passed\n',
  truncated: false,
  exitCode: 0,
  signal: null,
};
const lines = Array.from({ length: 40 }, (_, at) => `line ${at}`);
const diff: Piece = {
  type: 'diff',
  path: 'src/needle.rs',
  before: lines.join('\n'),
  after: lines.with(20, 'a needle').join('\n'),
  truncated: false,
};

test.each([
  ['a.b', 'a.b axb A.B', 2],
  ['aa', 'aaaa', 2],
  ['(x', 'f(x) (X', 2],
  ['straße', 'Straße STRASSE', 2],
  ['re\u0301sume\u0301', 'Résumé resume', 1],
])('%s is plain text in any case', (query, text, count) => expect(countIn(text, new TextPattern(query))).toBe(count));

test.each<[string, Row, number]>([
  ['a prompt', asks('Find the needle'), 1],
  ['an answer, as it is read', says('The **nee**dle is a `needle`.'), 2],
  ['a thought', thinks('needle, Needle'), 2],
  ['a title', tool({ title: 'Read needle.rs' }), 1],
  ['arguments that are not drawn', tool({ args: { options: { pattern: 'needle' }, title: 'Run it' } }), 1],
  ['a result', tool({ output: { items: ['hay', 'needle'] } }), 1],
  ['an argument that the title has is counted once', tool({ title: 'Read needle.rs', args: { path: 'needle.rs' } }), 1],
  ['a terminal with colours', tool({ content: [terminal] }), 1],
  ['a change, with its path', tool({ content: [diff] }), 2],
  ['another text', says('hay'), 0],
])('%s', (_, row, count) => expect(countInRow(row, new TextPattern('needle'))).toBe(count));

test('only the drawn lines of a change are searched', () => {
  const row = tool({ content: [diff] });
  expect(countInRow(row, new TextPattern('line 18'))).toBe(1);
  expect(countInRow(row, new TextPattern('line 20'))).toBe(1);
  expect(countInRow(row, new TextPattern('line 30'))).toBe(0);
});

test.each<[string, Row, number, unknown]>([
  ['an answer', says('needle'), 0, []],
  ['a thought', thinks('needle'), 0, [['h1', true]]],
  ['an output', tool({ content: [{ type: 'text', text: 'needle' }] }), 0, [['t1 0', true]]],
  [
    'a change',
    tool({ content: [terminal, diff] }),
    2,
    [
      ['t1 1', true],
      ['t1 1 whole', true],
    ],
  ],
  [
    'a row of a delegate',
    tool({
      name: 'delegate.run',
      args: { user_prompt: 'x' },
      delegate: { sessionId: 'c', mode: null, rows: [thinks('needle')] },
    }),
    0,
    [
      ['t1 activity', true],
      ['t1 changes', false],
      ['t1 many', true],
      ['h1', true],
    ],
  ],
  [
    'a brief',
    tool({ name: 'delegate.run', args: { user_prompt: 'needle' } }),
    0,
    [
      ['t1 changes', true],
      ['t1 activity', false],
    ],
  ],
])('the parts to unfold for %s', (_, row, nth, folds) =>
  expect(foldsAround(row, new TextPattern('needle'), nth)).toEqual(folds),
);

const found = new Found(
  [3, 9],
  [
    { key: 'a', index: 4, count: 2 },
    { key: 'b', index: 7, count: 1 },
  ],
  [40],
  false,
);

test('matches are numbered through lines above, rows and lines below', () => {
  expect(found.total).toBe(6);
  const places = [
    { line: 3 },
    { line: 9 },
    { key: 'a', nth: 0 },
    { key: 'a', nth: 1 },
    { key: 'b', nth: 0 },
    { line: 40 },
  ];
  expect(places.map((_, at) => found.at(at))).toEqual(places);
  expect(places.map((place) => found.positionOf(place))).toEqual([0, 1, 2, 3, 4, 5]);
  expect([found.at(-1), found.at(6), Found.NOTHING.at(0)]).toEqual([undefined, undefined, undefined]);
});

test.each([
  [0, 2],
  [5, 4],
  [8, 5],
])('from row %i on, the first is %i', (index, position) => expect(found.from(index)).toBe(position));

test('a vanished match moves to the nearest in its row', () => {
  expect(found.positionOf({ key: 'a', nth: 9 })).toBe(3);
  expect(found.positionOf({ key: 'z', nth: 0 })).toBe(-1);
  expect(Found.NOTHING.from(0)).toBe(-1);
});

const row = (at: number): Row => ({
  kind: 'user',
  key: `u${at}`,
  seqs: [at],
  ts: 0,
  text: at % 2 === 0 ? `needle ${at}` : 'hay',
  messageId: null,
  removed: false,
});
const rows = Array.from({ length: 100 }, (_, at) => row(at));

test('rows are counted in slices', async () => {
  let now = 0;
  const rest = vi.fn(() => Promise.resolve());
  // Each row takes a millisecond.
  const hits = await new Scan('NEEDLE', rest, () => (now += 1)).hits(rows, () => false);
  expect(hits?.length).toBe(50);
  expect(hits?.[1]).toEqual({ key: 'u2', index: 2, count: 1 });
  expect(rest.mock.calls.length).toBeGreaterThan(8);
});

test('a stale count stops', async () => {
  let now = 0;
  const rest = vi.fn(() => Promise.resolve());
  expect(await new Scan('needle', rest, () => (now += 1)).hits(rows, () => true)).toBeNull();
  expect(rest).toHaveBeenCalledOnce();
});

test('unchanged rows are not counted again', async () => {
  const scan = new Scan('needle', () => Promise.resolve());
  await scan.hits(rows, () => false);
  const read = vi.fn(() => 'needle');
  const watched = {
    ...row(1),
    get text() {
      return read();
    },
  } as Row;
  expect((await scan.hits([...rows, watched], () => false))?.length).toBe(51);
  read.mockClear();
  await scan.hits([...rows, watched], () => false);
  expect(read).not.toHaveBeenCalled();
});

test.each([
  ['plain text', 'plain text'],
  ['## A **bold** word', 'A bold word'],
  ['run `cargo test` now', 'run cargo test now'],
  ['see [the page](https://example.org/a_b)', 'see the page'],
  ['```rust\nlet a = **b;\n```\nafter', 'let a = **b;\nafter'],
  ['a_b and __c__', 'a_b and c'],
])('%j', (markdown, expected) => expect(withoutMarkup(markdown)).toBe(expected));
