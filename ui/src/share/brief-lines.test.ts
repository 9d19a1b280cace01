import { expect, test } from 'vitest';
import { briefPieces } from './brief-lines';

test('numbers of the log become pieces of their own', () => {
  const text = 'Head.\n\n## Task\n- Fix [1] it [12]\n- More [3]\n(1 more line)\n';
  const lines = [
    { line: 4, source: 12 },
    { line: 5, source: 3 },
  ];
  const pieces = briefPieces({ text, lines });
  expect(pieces.map((piece) => piece.text).join('')).toBe(text);
  expect(pieces.filter(({ source }) => source !== null)).toEqual([
    { text: '[12]', source: 12 },
    { text: '[3]', source: 3 },
  ]);
});
