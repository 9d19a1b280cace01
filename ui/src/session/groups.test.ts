import { expect, test } from 'vitest';
import { grouped } from './groups';
import { age } from '../words/age';

const now = new Date(2026, 10, 21, 9, 30);
const at = (...parts: [number, number, number, number?, number?]): number => new Date(...parts).getTime();

test('sessions are grouped by calendar day, newest first', () => {
  const items = [
    ['just now', at(2026, 10, 21, 9, 29)],
    ['midnight', at(2026, 10, 21, 0, 0)],
    ['last night', at(2026, 10, 20, 23, 59)],
    ['yesterday', at(2026, 10, 20, 0, 0)],
    ['two days ago', at(2026, 10, 19, 12)],
    ['a week ago', at(2026, 10, 14, 0, 0)],
    ['before that', at(2026, 10, 13, 23, 59)],
    ['undated', 0],
  ] as const;
  const groups = grouped([...items].reverse().map(([name, updatedAt]) => ({ name, updatedAt })), now);
  expect(groups.map((group) => [group.name, group.items.map((item) => item.name)])).toEqual([
    ['Today', ['just now', 'midnight']],
    ['Yesterday', ['last night', 'yesterday']],
    ['Last 7 days', ['two days ago', 'a week ago']],
    ['Older', ['before that', 'undated']],
  ]);
});

test('a clock that runs ahead does not hide a session', () => {
  expect(grouped([{ updatedAt: now.getTime() + 60_000 }], now)[0]?.name).toBe('Today');
});

test('no sessions, no groups', () => expect(grouped([], now)).toEqual([]));

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
