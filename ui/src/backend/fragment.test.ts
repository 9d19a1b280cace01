import { expect, test } from 'vitest';
import { parseFragment, sessionFragment } from './fragment';

test.each([
  ['', { token: null, session: null }],
  ['#', { token: null, session: null }],
  ['#token=abc', { token: 'abc', session: null }],
  ['#token=', { token: null, session: null }],
  ['#token=a-b_c&session=s%201', { token: 'a-b_c', session: 's 1' }],
  ['#session=x', { token: null, session: 'x' }],
])('%s', (hash, expected) => {
  expect(parseFragment(hash)).toEqual(expected);
});

test('a session survives the way through the address bar', () => {
  expect(parseFragment(sessionFragment('a&b=c')).session).toBe('a&b=c');
  expect(sessionFragment(null)).toBe('');
});
