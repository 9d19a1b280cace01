import { describe, expect, test } from 'vitest';
import type { Finding } from '../connection/wire';
import { answerOf, countWords, cutAt, emptyTitle, glance, linesOf, matchedWords, walk, cardsOf } from './finding-text';

const rest = { start: 1, end: 2, excerpt: '', score: 1, why: '' };
const file = (path: string): Finding => ({ kind: 'usage', path, ...rest });
const session: Finding = { kind: 'session', provider: 'codex', session_id: 's', ...rest };

test.each<[Finding[], string]>([
  [[file('a')], '1 file'],
  [[file('a'), file('b')], '2 files'],
  [[file('a'), file('a'), session], '2 places in 1 file and 1 session'],
  [[session, session], '2 sessions'],
])('%j', (findings, expected) => expect(countWords({ findings })).toBe(expected));

test.each([
  ['**Found:** nothing for `expiry` in src; try a name from the code', 'Nothing found for `expiry` in src'],
  ['**Found:** nothing for “a b”.', 'Nothing found for “a b”'],
  ['**Found:**\n- `a.rs:1`', 'Nothing found'],
  ['', 'Nothing found'],
])('%j is headed %j', (text, expected) => expect(emptyTitle(text)).toBe(expected));

test.each([
  ['`follow_redirects`, defines `Policy`, `Policy` again', ['follow_redirects', 'Policy']],
  ['touched by the session “Fix it”', []],
  ['an odd ` backtick', []],
])('%s names %j', (why, words) => expect(matchedWords(why)).toEqual(words));

describe('excerpts', () => {
  const file = (excerpt: string, end = 12): Finding => ({
    kind: 'definition',
    path: 'a.rs',
    start: 10,
    end,
    excerpt,
    score: 1,
    why: '',
  });
  const session: Finding = {
    kind: 'session',
    provider: 'codex',
    session_id: 's',
    start: 7,
    end: 9,
    excerpt: 'a\nb',
    score: 1,
    why: '',
  };

  test('lines of a file have numbers, those of a session do not', () => {
    expect(linesOf(file('a\r\n\nc\n'))).toEqual([
      { number: 10, text: 'a' },
      { number: 11, text: '' },
      { number: 12, text: 'c' },
    ]);
    expect(linesOf(session).map(({ number }) => number)).toEqual([null, null]);
  });

  test('a cut excerpt names its last line', () => {
    expect(cutAt(file('a\nb'), linesOf(file('a\nb')))).toBe(11);
    expect(cutAt(file('a\nb\nc'), linesOf(file('a\nb\nc')))).toBeNull();
    expect(cutAt(session, linesOf(session))).toBeNull();
  });

  const long = file(Array.from({ length: 30 }, () => 'x').join('\n'));

  test.each([
    ['a long excerpt', long, 12],
    ['an excerpt of two lines more', file(Array(14).fill('x').join('\n')), 14],
  ])('%s is shown from its first line', (_, finding, count) => {
    const shown = glance(linesOf(finding), 12);
    expect([shown[0]?.number, shown.length]).toEqual([10, count]);
  });

  test('omitted lines have no number', () => {
    const gapped = { ...file('fn a() {\n…\n  x', 40), lines: [10, 0, 30] };
    expect(linesOf(gapped).map(({ number }) => number)).toEqual([10, null, 30]);
  });
});

test.each<[Finding, string]>([
  [{ ...file('a.rs'), kind: 'definition', symbol: 'pair' }, '`pair` in `a.rs:1-2`'],
  [{ ...file('a.rs'), kind: 'definition', symbol: 'pair', about: 'Pairs.' }, '`pair` in `a.rs:1-2`: Pairs.'],
  [{ ...file('a.rs'), symbol: 'pair' }, ''],
  [session, ''],
])('%j answers %j', (finding, expected) => expect(answerOf(finding)).toBe(expected));

test.each([
  ['ArrowDown', 0, 1],
  ['ArrowDown', 2, null],
  ['ArrowUp', 2, 1],
  ['ArrowUp', 0, null],
  ['Home', 2, 0],
  ['Home', 0, null],
  ['End', 0, 2],
  ['End', 2, null],
  ['Enter', 1, null],
])('%s on card %i of three leads to %s', (key, at, expected) => expect(walk(key, at, [0, 1, 2])).toBe(expected));

test.each([
  [['redis/client.py', 'redis/asyncio/client.py', 'redis/cluster.py'], [[0, [1]]]],
  [['src/async_impl/client.rs', 'src/blocking/client.rs'], [[0, [1]]]],
  [['a/client.py', 'b/client.py'], []],
  [['src/client.ts', 'src/sync/client.ts'], []],
  [['a/client.py', 'a/client.py', 'a/aio/client.py', 'a/aio/client.py'], []],
  [['a/client.py', 'a/client.py'], []],
])('versions of the same code are twins: %j', (paths, expected) => {
  const findings = paths.map((path) => ({ ...file(path), symbol: 'get' }));
  const twins = cardsOf(findings).filter((card) => card.twins.length > 0);
  expect(twins.map((card) => [card.at, card.twins])).toEqual(expected);
});

test.each([
  [[1, 0.9, 0.8, 0.3, 0.2], 2],
  [[1, 0.4, 0.3, 0.2, 0.2], 0],
  [[1, 0.9, 0.8, 0.3], 0],
  [[1, 1, 1, 0.4, 1, 0.3], 0],
  [[1, 1, 0.9, 0.8, 0.7, 0.3, 0.2, 0.1], 3],
  [[], 0],
])('of the scores %j, %i are weaker', (scores, expected) =>
  expect(cardsOf(scores.map((score) => ({ ...file('a'), score }))).filter((card) => card.weaker)).toHaveLength(
    expected,
  ),
);

test('findings of a file are drawn together, weaker ones at the end', () => {
  const findings = [
    { ...file('a'), score: 1 },
    { ...file('b'), score: 1 },
    { ...session, score: 1 },
    { ...session, score: 1 },
    { ...file('a'), score: 0.9 },
    { ...file('b'), score: 0.1 },
    { ...file('c'), score: 0.1 },
  ];
  expect(cardsOf(findings).map(({ at, weaker, continues }) => [at, weaker, continues])).toEqual([
    [0, false, false],
    [4, false, true],
    [1, false, false],
    [2, false, false],
    [3, false, false],
    [5, true, false],
    [6, true, false],
  ]);
});
