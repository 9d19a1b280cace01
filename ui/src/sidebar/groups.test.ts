import { expect, test } from 'vitest';
import { ownEntry, pastEntry, type Entry } from '../session/entry';
import { age } from '../words/amounts';
import { byTime, byWorkspace, grouped, linesOf, listed } from './groups';

const now = new Date(2026, 10, 21, 9, 30);
const at = (...parts: [number, number, number, number?, number?]): number => new Date(...parts).getTime();
const entry = (id: string, cwd = '/w', more: { pinned?: boolean } = {}): Entry =>
  ownEntry({ id, title: id, cwd, updatedAt: now.getTime(), running: false, waiting: 0, ...more });

test('sessions are grouped by calendar day, newest first', () => {
  const items = [
    ['just now', at(2026, 10, 21, 9, 29)],
    ['midnight', at(2026, 10, 21, 0, 0)],
    ['last night', at(2026, 10, 20, 23, 59)],
    ['yesterday', at(2026, 10, 20, 0, 0)],
    ['two days ago', at(2026, 10, 19, 12)],
    ['a week ago', at(2026, 10, 14, 0, 0)],
    ['before that', at(2026, 10, 13, 23, 59)],
    ['a month ago', at(2026, 9, 22, 0, 0)],
    ['undated', 0],
  ] as const;
  const groups = byTime(
    items.map(([name, updatedAt]) => ({ name, updatedAt })),
    now,
  );
  expect(groups.map((group) => [group.name, group.items.map((item) => item.name)])).toEqual([
    ['Today', ['just now', 'midnight']],
    ['Yesterday', ['last night', 'yesterday']],
    ['Last 7 days', ['two days ago', 'a week ago']],
    ['Last 30 days', ['before that', 'a month ago']],
    ['Older', ['undated']],
  ]);
});

test('a clock that runs ahead does not hide a session', () => {
  expect(byTime([{ updatedAt: now.getTime() + 60_000 }], now)[0]?.name).toBe('Today');
});

test('no sessions make no groups', () => expect(grouped([], 'time', now)).toEqual([]));

test('sessions are grouped by workspace; equal names show their parent', () => {
  const entries = [
    entry('a', '/code/one'),
    entry('b', '/code/two'),
    entry('c', '/code/one'),
    entry('d', '/old/two'),
    { ...entry('e'), cwd: null },
  ];
  expect(byWorkspace(entries).map(({ name, items }) => [name, items.map(({ id }) => id).join('')])).toEqual([
    ['one', 'ac'],
    ['two · code', 'b'],
    ['two · old', 'd'],
    ['Unknown folder', 'e'],
  ]);
});

test('pinned sessions are a group of their own, on top', () => {
  const entries = [entry('a'), entry('b', '/w', { pinned: true }), entry('c')];
  expect(linesOf(grouped(entries, 'time', now)).map(({ heading, entry }) => heading ?? entry?.id)).toEqual([
    'Pinned',
    'b',
    'Today',
    'a',
    'c',
  ]);
  expect(linesOf(grouped(entries, 'workspace', now)).map(({ heading, entry }) => heading ?? entry?.id)).toEqual([
    'Pinned',
    'b',
    'w',
    'a',
    'c',
  ]);
});

const MINUTE = 60_000;
test.each([
  [-5, 'now'],
  [59_000, 'now'],
  [MINUTE, '1m'],
  [59 * MINUTE, '59m'],
  [60 * MINUTE, '1h'],
  [24 * 60 * MINUTE, '1d'],
  [13 * 24 * 60 * MINUTE, '13d'],
  [14 * 24 * 60 * MINUTE, '2w'],
])('%d ms ago is %s', (ago, expected) => expect(age(now.getTime() - ago, now.getTime())).toBe(expected));

const ours = (id: string, updatedAt: number): Entry =>
  ownEntry({ id, title: id, cwd: '/w', updatedAt, running: false, waiting: 0 });
const past = (id: string, updatedAt: number, more: object = {}): Entry =>
  pastEntry({
    provider: 'codex',
    agent: 'Codex',
    id,
    title: id,
    cwd: null,
    branch: null,
    model: null,
    createdAt: null,
    resume: null,
    updatedAt,
    ...more,
  });
const keys = (entries: readonly Entry[]): string[] => entries.map(({ key }) => key);

const mine = [ours('a', 9), ours('b', 5)];
const theirs = [past('x', 7), past('y', 3)];

test.each([
  ['ours goes on', 5, -Infinity, ['a', 'codex x', 'b']],
  ['theirs goes on', -Infinity, 3, ['a', 'codex x', 'b', 'codex y']],
  ['both go on', 5, 7, ['a', 'codex x']],
  ['both are read', -Infinity, -Infinity, ['a', 'codex x', 'b', 'codex y']],
])('%s: entries beyond the end of either list are hidden', (_, own, other, expected) => {
  expect(keys(listed({ entries: mine, reached: own }, { entries: theirs, reached: other }))).toEqual(expected);
});

test('a pinned session is listed before its page is loaded', () => {
  const pinned = past('z', 1, { pinned: true });
  expect(keys(listed({ entries: mine, reached: 5 }, { entries: [...theirs, pinned], reached: -Infinity }))).toEqual([
    'a',
    'codex x',
    'b',
    'codex z',
  ]);
});
