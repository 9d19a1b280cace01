import { expect, test } from 'vitest';
import { walk } from './walk';

test.each([
  ['ArrowDown', 0, 1],
  ['ArrowDown', 2, null],
  ['ArrowUp', 2, 1],
  ['ArrowUp', 0, null],
  ['Home', 2, 0],
  ['Home', 0, null],
  ['End', 0, 2],
  ['End', 2, null],
  ['Enter', 1, null],
])('%s on card %i of three leads to %s', (key, at, expected) => expect(walk(key, at, 3)).toBe(expected));
