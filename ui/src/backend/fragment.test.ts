import { expect, test } from 'vitest';
import { pairingFragment, parseFragment, sessionFragment } from './fragment';

const NOTHING = { token: null, pair: null, session: null, transcript: null, fingerprint: null, addresses: [] };

test.each([
  ['', NOTHING],
  ['#', NOTHING],
  ['#token=abc', { ...NOTHING, token: 'abc' }],
  ['#token=', NOTHING],
  ['#token=a-b_c&session=s%201', { ...NOTHING, token: 'a-b_c', session: 's 1' }],
  ['#session=x', { ...NOTHING, session: 'x' }],
  ['#transcript=codex:a%3Ab&line=7', { ...NOTHING, transcript: { provider: 'codex', id: 'a:b', line: 7 } }],
  ['#transcript=codex', NOTHING],
  ['#transcript=codex:a&line=-1', { ...NOTHING, transcript: { provider: 'codex', id: 'a', line: null } }],
  ['#pair=K7QX-2M9P', { ...NOTHING, pair: 'K7QX-2M9P' }],
  [
    '#pair=K7QX-2M9P&fingerprint=abCD&addresses=mac.local:9443,192.168.1.5:9443,[fe80::1]:9443',
    {
      ...NOTHING,
      pair: 'K7QX-2M9P',
      fingerprint: 'ABCD',
      addresses: ['https://mac.local:9443', 'https://192.168.1.5:9443', 'https://[fe80::1]:9443'],
    },
  ],
  ['#fingerprint=xyz&addresses=a@b,c/d,%3Cscript%3E,', NOTHING],
])('%s', (hash, expected) => {
  expect(parseFragment(hash)).toEqual(expected);
});

test('a session id round-trips through the address bar', () => {
  expect(parseFragment(sessionFragment('a&b=c')).session).toBe('a&b=c');
  expect(sessionFragment(null)).toBe('');
});

test("the QR code's data carries over to another address of the same computer", () => {
  const held = {
    pair: 'K7QX-2M9P',
    fingerprint: 'ABCD',
    addresses: ['https://mac.local:9443', 'https://10.0.0.2:9443'],
  };
  expect(parseFragment(pairingFragment(held))).toMatchObject(held);
  expect(pairingFragment({ pair: 'K7QX-2M9P', fingerprint: null, addresses: [] })).toBe('#pair=K7QX-2M9P');
});
