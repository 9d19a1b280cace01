import { expect, test } from 'vitest';
import { difference, firstLine, type DiffLine } from './lines';

const drawn = ({ kind, before, after, text }: DiffLine): string =>
  `${before ?? ''}|${after ?? ''}|${{ same: ' ', added: '+', removed: '-', gap: '…' }[kind]}${text}`;
const of = (before: string | null, after: string, first?: number): string[] =>
  difference(before, after, first).lines.map(drawn);
const numbers = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, at) => `${from + at}\n`).join('');

test.each<[string, string | null, string, string[]]>([
  ['a changed line', 'a\nb\nc\n', 'a\nB\nc\n', ['1|1| a', '2||-b', '|2|+B', '3|3| c']],
  ['a new file', null, 'a\nb\n', ['|1|+a', '|2|+b']],
  ['a file that is emptied', 'a\n', '', ['1||-a']],
  ['nothing', 'a\n', 'a\n', []],
  ['a last line without an end', 'a', 'a\nb', ['1||-a', '|1|+a', '|2|+b']],
])('%s', (_name, before, after, expected) => expect(of(before, after)).toEqual(expected));

test('unchanged lines are left out, and the numbers continue', () => {
  const before = numbers(1, 40);
  const after = before.replace('2\n', 'two\n').replace('\n30\n', '\nthirty\n');
  const lines = of(before, after);
  expect(lines).toContain('||…');
  expect(lines.slice(-4)).toEqual(['|30|+thirty', '31|31| 31', '32|32| 32', '33|33| 33']);
  expect(difference(before, after)).toMatchObject({ added: 2, removed: 2 });
});

test('an excerpt has the line numbers of its file', () => {
  expect(of('a\n', 'b\n', firstLine('a\n', 88))).toEqual(['88||-a', '|88|+b']);
  expect(firstLine(numbers(1, 90), 88)).toBe(1);
  expect(firstLine(null, 88)).toBe(1);
});

test('texts without a common line are entirely changed', () => {
  const [before, after] = ['a', 'b'].map((letter) =>
    Array.from({ length: 20_000 }, (_, at) => `${letter}${at}\n`).join(''),
  ) as [string, string];
  expect(difference(before, after)).toMatchObject({ added: 20_000, removed: 20_000 });
});
