import { expect, test } from 'vitest';
import { has, matching, type PaletteEntry } from './entries';

test.each([
  ['', true],
  ['pair', true],
  ['PAIR qr', true],
  ['pair xml', false],
])('%s', (query, expected) => expect(has(query, 'QR pairing', null, 'harbour')).toBe(expected));

test('each group has a few entries, and what was found by its text stays', () => {
  const entry = (group: PaletteEntry['group'], title: string): PaletteEntry => ({ key: title, group, icon: 'chat', title, note: '', run: () => undefined });
  const entries = [...Array.from({ length: 20 }, (_, at) => entry('Sessions', `Pairing ${at}`)), entry('Found in sessions', 'Reconnect'), entry('Commands', 'Settings')];
  expect(matching(entries, 'pair').map(({ group }) => group)).toEqual([...Array.from({ length: 8 }, () => 'Sessions'), 'Found in sessions']);
});
