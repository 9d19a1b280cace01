import { expect, test } from 'vitest';
import { parseFragment, sessionFragment } from './fragment';

const NOTHING = { token: null, pair: null, session: null };

test.each([
  ['', NOTHING],
  ['#', NOTHING],
  ['#token=abc', { ...NOTHING, token: 'abc' }],
  ['#token=', NOTHING],
  ['#token=a-b_c&session=s%201', { ...NOTHING, token: 'a-b_c', session: 's 1' }],
  ['#session=x', { ...NOTHING, session: 'x' }],
  ['#pair=K7QX-2M9P', { ...NOTHING, pair: 'K7QX-2M9P' }],
])('%s', (hash, expected) => {
  expect(parseFragment(hash)).toEqual(expected);
});

test('a session survives the way through the address bar', () => {
  expect(parseFragment(sessionFragment('a&b=c')).session).toBe('a&b=c');
  expect(sessionFragment(null)).toBe('');
});
