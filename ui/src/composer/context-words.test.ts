import { expect, test } from 'vitest';
import { contextWords, isNearlyFull, share } from './context-words';

test.each([
  [{ used: 128, size: 258_400, cost: { amount: 0.01, currency: 'USD' } }, '128 of 258K · $0.01', 0.0005],
  [{ used: 4_210, size: 8_192 }, '4.21K of 8.19K', 0.514],
  [{ used: 1_100_000, size: 1_000_000, cost: { amount: 1.5, currency: 'EUR' } }, '1.1M of 1M · 1.50 EUR', 1],
  [{ used: 999_499, size: 0, cost: { amount: 0, currency: 'USD' } }, '999K tokens', null],
  [{ used: 1, size: 2, cost: { amount: 0.0042, currency: 'USD' } }, '1 of 2 · $0.0042', 0.5],
])('%j reads %j', (usage, words, expected) => {
  expect(contextWords(usage)).toBe(words);
  if (expected === null) expect(share(usage)).toBeNull();
  else expect(share(usage)).toBeCloseTo(expected, 3);
});

test.each([
  [79, 100, false],
  [80, 100, true],
  [120, 100, true],
  [80, 0, false],
])('%i of %i tokens is nearly full: %j', (used, size, expected) => expect(isNearlyFull({ used, size })).toBe(expected));
