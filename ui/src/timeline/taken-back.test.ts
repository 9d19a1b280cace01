import { expect, test } from 'vitest';
import { foldTakenBack, hiddenBehind } from './taken-back';
import type { Row } from './rows';

const row = (key: string, takenBack = false): Row =>
  ({ kind: 'user', key, seqs: [1], ts: 0, text: key, messageId: null, ...(takenBack ? { takenBack: 0 } : {}) }) as Row;
const rows = [row('a'), row('b', true), row('c', true), row('d'), row('e', true)];
const shown = (open: string[]): string =>
  foldTakenBack(rows, new Set(open))
    .map(({ key, takenBack }) => `${key}${takenBack ?? ''}`)
    .join(' ');

test('each run of taken-back rows is folded to its first row, which counts them', () => {
  expect(shown([])).toBe('a b2 d e1');
  expect(shown(['b'])).toBe('a b2 c0 d e1');
  expect(foldTakenBack([], new Set())).toEqual([]);
});

test('a hidden row is found behind the first row of its run', () => {
  expect(['a', 'b', 'c', 'e', 'x'].map((key) => hiddenBehind(rows, key))).toEqual([null, 'b', 'b', 'e', null]);
});
