import { expect, test } from 'vitest';
import { terminalText } from './terminal-keys';

const key = (key: string, held: object = {}): string | null =>
  terminalText({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, isComposing: false, ...held });

test('keys are sent as a terminal sends them', () => {
  expect(['a', 'Ü', '😀', ' ', 'Enter', 'Backspace', 'ArrowDown'].map((name) => key(name))).toEqual([
    'a',
    'Ü',
    '😀',
    ' ',
    '\r',
    '\x7f',
    '\x1b[B',
  ]);
  expect(key('c', { ctrlKey: true })).toBe('\x03');
  expect(key('@', { altKey: true })).toBe('@');
  expect(key('@', { altKey: true, ctrlKey: true })).toBe('@');
});

test('keys of the page and the system are left alone', () => {
  expect(key('v', { metaKey: true })).toBeNull();
  expect(key('V', { ctrlKey: true, shiftKey: true })).toBeNull();
  expect(key('Tab', { shiftKey: true })).toBeNull();
  expect(key('a', { isComposing: true })).toBeNull();
  for (const name of ['Shift', 'F5', 'Dead', 'Unidentified']) expect(key(name)).toBeNull();
});
