import { expect, test } from 'vitest';
import { hintOf, isCommand, matching } from './slash';

const COMMANDS = [
  { name: 'review', description: 'Reviews', input: { hint: '[branch]' } },
  { name: 'init', description: 'Sets up' },
  { name: 'memory show', description: 'Shows' },
  { name: 'preview', description: '' },
  { name: 'memory', description: '' },
];

test.each([
  ['/', ['review', 'init', 'memory show', 'preview', 'memory']],
  ['/re', ['review', 'preview']],
  ['/VIEW', ['review', 'preview']],
  ['/memory s', ['memory show']],
  ['/memory ', ['memory show']],
  ['/memory', ['memory', 'memory show']],
  ['/memory x', []],
  ['/init', ['init']],
  ['/init now', []],
  ['/review ', []],
  ['/nothing', []],
  [' /init', []],
  ['say /init', []],
  ['/init\nthen', []],
  ['', []],
])('%j may become %j', (text, expected) => {
  expect(matching(text, COMMANDS).map(({ name }) => name)).toEqual(expected);
});

test('many commands are cut', () => {
  const many = Array.from({ length: 500 }, (_, at) => ({ name: `c${at}`, description: '' }));
  expect(matching('/', many)).toHaveLength(50);
});

test.each([
  ['/review ', '[branch]'],
  ['/review x', null],
  ['/init ', null],
  ['/review', null],
])('%j has the hint %j', (text, expected) => expect(hintOf(text, COMMANDS)).toBe(expected));

test.each([
  ['/memory', true],
  ['/memory ', true],
  ['/memory show', true],
  ['/mem', false],
  ['/memory x', false],
])('%j is a command: %j', (text, expected) => expect(isCommand(text, COMMANDS)).toBe(expected));
