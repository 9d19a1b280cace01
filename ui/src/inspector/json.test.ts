import { expect, test } from 'vitest';
import { findMatches, splitLine } from './json';

const LINES = ['{', '"Name": "name NAME",', '"other": 1', '}'];

test('search ignores case and keeps the order', () => {
  expect(findMatches(LINES, 'name')).toEqual([
    { line: 1, start: 1, end: 5 },
    { line: 1, start: 9, end: 13 },
    { line: 1, start: 14, end: 18 },
  ]);
});

test('an empty query matches nothing', () => expect(findMatches(LINES, '')).toEqual([]));

test('a line splits at its matches', () => {
  const matches = findMatches(LINES, 'other": 1');
  expect(splitLine('"other": 1', 2, matches)).toEqual([
    { text: '"', match: null },
    { text: 'other": 1', match: matches[0] },
    { text: '', match: null },
  ]);
});
