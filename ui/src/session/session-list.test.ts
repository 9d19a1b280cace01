import { expect, test } from 'vitest';
import { merged, withChanges } from './session-list.svelte';

interface Item {
  id: string;
  updatedAt: number;
}

const items = (text: string): Item[] =>
  text
    .split(' ')
    .filter(Boolean)
    .map((part) => ({ id: part.replace(/\d+$/, ''), updatedAt: Number(/\d+$/.exec(part)?.[0]) }));
const text = (list: readonly Item[]): string => list.map(({ id, updatedAt }) => `${id}${updatedAt}`).join(' ');
const id = (item: Item): string => item.id;

test.each([
  ['a9 b5 c1', '', [], 'a9 b5 c1'],
  ['', 'x3 y7', [], 'y7 x3'],
  ['a9 b5 c1', 'b10', [], 'b10 a9 c1'],
  ['a9 b5 c1', 'x5 c6', [], 'a9 c6 b5 x5'],
  ['a9 b5 c1', '', ['a', 'c'], 'b5'],
  ['a9 b5', 'b3 b12', ['z'], 'b12 a9'],
])('%s with %s, without %s, is %s', (known, changed, removed, expected) => {
  expect(text(withChanges(items(known), id, items(changed), new Set(removed)))).toBe(expected);
});

test('items with equal times keep their order', () =>
  expect(text(merged(items('a5 b5'), items('c5 d4')))).toBe('a5 b5 c5 d4'));
