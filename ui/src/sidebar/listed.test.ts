import { expect, test } from 'vitest';
import { ownEntry, pastEntry, type Entry } from '../session/entry';
import { listed } from './listed';

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
])('%s: what may stand between the end of one list and the other is hidden', (_, own, other, expected) => {
  expect(keys(listed({ entries: mine, reached: own }, { entries: theirs, reached: other }))).toEqual(expected);
});

test('a pinned session is listed before the list is read down to it', () => {
  const pinned = past('z', 1, { pinned: true });
  expect(keys(listed({ entries: mine, reached: 5 }, { entries: [...theirs, pinned], reached: -Infinity }))).toEqual([
    'a',
    'codex x',
    'b',
    'codex z',
  ]);
});
