import { expect, test } from 'vitest';
import { pause } from './backoff';

test.each([
  [0, 250, 500],
  [1, 500, 1000],
  [4, 4000, 8000],
  [6, 10_000, 20_000],
  [5000, 10_000, 20_000],
])('attempt %i waits between %i and %i ms', (attempt, least, most) => {
  expect(pause(attempt, () => 0)).toBe(least);
  expect(pause(attempt, () => 1)).toBe(most);
});
