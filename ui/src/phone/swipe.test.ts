import { expect, test } from 'vitest';
import { Swipe } from './swipe';

const at = (x: number, y = 400, ms = 0): { x: number; y: number; at: number } => ({ x, y, at: ms });

test('a touch away from the edge does not open the drawer', () => {
  expect(Swipe.begin(at(60), false, 320)).toBeNull();
});

test('the drawer follows the finger and stays open when more than half is visible', () => {
  const swipe = Swipe.begin(at(4), false, 320);
  expect(swipe?.move(at(8))).toBeNull();
  expect(swipe?.move(at(84, 400, 400))).toBe(0.25);
  expect(swipe?.end()).toBe(false);
  expect(swipe?.move(at(204, 400, 1000))).toBe(0.625);
  expect(swipe?.end()).toBe(true);
});

test.each([
  ['a flick draws it in', false, 4, 44, true],
  ['a flick pushes it out', true, 300, 250, false],
])('%s', (_name, open, from, to, expected) => {
  const swipe = Swipe.begin(at(from), open, 320);
  swipe?.move(at(to, 400, 50));
  expect(swipe?.end()).toBe(expected);
});

test('a vertical drag scrolls', () => {
  const swipe = Swipe.begin(at(4), false, 320);
  expect([swipe?.move(at(8, 440)), swipe?.move(at(300, 440, 10)), swipe?.end()]).toEqual([null, null, false]);
});
