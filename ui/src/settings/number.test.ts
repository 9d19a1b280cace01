import { expect, test } from 'vitest';
import { shownNumber, typedNumber } from './number';

test.each([
  [0.699999988079071, '0.7'],
  [2, '2'],
  [null, ''],
])('%s is shown as %j', (value, text) => expect(shownNumber(value)).toBe(text));

test.each([
  ['0.7', 0.7],
  [' 0,7 ', 0.7],
  ['7', 7],
  ['', undefined],
  ['-', undefined],
  ['1e999', undefined],
])('%j means %s', (text, value) => expect(typedNumber(text)).toBe(value));
