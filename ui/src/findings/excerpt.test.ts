import { expect, test } from 'vitest';
import type { Finding } from '../connection/wire';
import { cutAt, glance, linesOf } from './excerpt';

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

test('a cut excerpt says where', () => {
  expect(cutAt(file('a\nb'), linesOf(file('a\nb')))).toBe(11);
  expect(cutAt(file('a\nb\nc'), linesOf(file('a\nb\nc')))).toBeNull();
  expect(cutAt(session, linesOf(session))).toBeNull();
});

const long = (at: number): Finding =>
  file(Array.from({ length: 30 }, (_, n) => (n === at ? 'the pair' : 'x')).join('\n'));

test.each([
  ['in sight', long(5), 10, 12],
  ['further down', long(15), 22, 12],
  ['at the end', long(29), 28, 12],
  ['nowhere', long(-1), 10, 12],
  ['in an excerpt of two lines more', file(Array(14).fill('x').join('\n')), 10, 14],
])('a match %s: the glance has the expected start and length', (_, finding, from, count) => {
  const shown = glance(linesOf(finding), ['pair'], 12);
  expect([shown[0]?.number, shown.length]).toEqual([from, count]);
});
