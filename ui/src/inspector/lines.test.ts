import { describe, expect, test } from 'vitest';
import { find, lines, segments, unfolded } from './lines';

const VALUES: unknown[] = [
  null,
  true,
  12.5,
  'a "quoted"\nline',
  [],
  {},
  [1, [2, { a: [] }]],
  { a: 1, b: [true, null, 'x'], c: { d: {} }, 'e "f"': undefined, g: 'é' },
];

test.each(VALUES.map((value) => [JSON.stringify(value), value]))(
  '%s is printed as JSON.stringify prints it',
  (_name, value) => {
    const printed = lines(value).map((line) => ' '.repeat(2 * line.depth) + line.text);
    expect(printed.join('\n')).toBe(JSON.stringify(value, null, 2));
  },
);

test('folding hides what is inside and the closing bracket', () => {
  const all = lines({ a: [1, 2], b: 3 });
  expect(unfolded(all, new Set([1])).map((line) => line.text)).toEqual(['{', '"a": [', '"b": 3', '}']);
});

describe('search', () => {
  const all = lines({ Name: 'name NAME', other: 1 });

  test('finds every letter case, in order', () => {
    expect(find(all, 'name')).toEqual([
      { line: 1, start: 1, end: 5 },
      { line: 1, start: 9, end: 13 },
      { line: 1, start: 14, end: 18 },
    ]);
  });

  test('for an empty text finds nothing', () => expect(find(all, '')).toEqual([]));

  test('marks matches that cross tokens', () => {
    const line = lines({ a: 1 })[1];
    if (line === undefined) return expect.fail();
    const matches = find([line], 'a": 1');
    expect(segments(line, matches, matches[0])).toEqual([
      { kind: 'key', text: '"', match: 'none' },
      { kind: 'key', text: 'a"', match: 'current' },
      { kind: 'mark', text: ': ', match: 'current' },
      { kind: 'number', text: '1', match: 'current' },
    ]);
  });
});
