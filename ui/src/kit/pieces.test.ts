import { expect, test } from 'vitest';
import { pieces } from './pieces';

test.each([
  ['', []],
  ['ls', ['ls']],
  ['a\n\nb', ['a\n', '\n', 'b']],
  ['x'.repeat(170), ['x'.repeat(80), 'x'.repeat(80), 'x'.repeat(10)]],
  [`${'💥'.repeat(81)}\n`, ['💥'.repeat(80), '💥\n']],
])('%j is cut into %j', (text, expected) => {
  expect(pieces(text)).toEqual(expected);
  expect(pieces(text).join('')).toBe(text);
});
