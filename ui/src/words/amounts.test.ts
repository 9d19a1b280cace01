import { expect, test } from 'vitest';
import { clock, compact, duration, elapsed, size, thoughtWords } from './amounts';

test.each([
  [-5, '<1 ms'],
  [2.4, '2 ms'],
  [112, '112 ms'],
  [999.4, '999 ms'],
  [1440, '1.4 s'],
  [9949, '9.9 s'],
  [12_300, '12 s'],
  [59_499, '59 s'],
  [59_500, '1:00'],
  [65_000, '1:05'],
  [3_725_000, '62:05'],
])('%d ms took %s', (ms, expected) => expect(duration(ms)).toBe(expected));

test.each([
  [0, '<0.1 s'],
  [412, '0.4 s'],
  [61_000, '1:01'],
])('%d ms have elapsed: %s', (ms, expected) => expect(elapsed(ms)).toBe(expected));

test.each([
  [0, '0 B'],
  [999, '999 B'],
  [1200, '1.2 kB'],
  [3_400_000, '3.4 MB'],
])('%d bytes are %s', (bytes, expected) => expect(size(bytes)).toBe(expected));

test.each([
  [0, 'Thought briefly'],
  [999, 'Thought briefly'],
  [1400, 'Thought for 1 s'],
  [12_000, 'Thought for 12 s'],
  [65_000, 'Thought for 1:05'],
])('a thought of %d ms: %s', (ms, words) => expect(thoughtWords(ms)).toBe(words));

test.each([
  [-5, '0:00'],
  [999, '0:00'],
  [41_000, '0:41'],
  [125_000, '2:05'],
])('%d ms on a clock: %s', (ms, words) => expect(clock(ms)).toBe(words));

test.each([
  [0, '0'],
  [999, '999'],
  [80_000, '80K'],
  [101_234, '101K'],
  [999_600, '1M'],
  [11_900_000, '11.9M'],
  [2_345_000_000, '2.35B'],
])('%d is %s in short', (count, expected) => expect(compact(count)).toBe(expected));
