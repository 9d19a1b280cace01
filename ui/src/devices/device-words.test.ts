import { expect, test } from 'vitest';
import {
  accessRequestWords,
  actionWords,
  endpoints,
  fingerprintGroups,
  holds,
  leftWords,
  limitWords,
  seenWords,
} from './device-words';

const NOW = 10_000_000;

test.each([
  [1, 0, 'Connected'],
  [2, 0, '2 connections'],
  [0, null, 'Never seen'],
  [0, NOW - 5_000, 'Seen just now'],
  [0, NOW - 3 * 3_600_000, 'Seen 3h ago'],
])('%i connections, last seen %s: %s', (connections, lastSeen, words) => {
  expect(seenWords({ connections, lastSeen }, NOW)).toBe(words);
});

test.each([
  [300_000, '5 minutes left'],
  [60_000, '1 minute left'],
  [59_000, 'less than a minute left'],
  [1, 'less than a minute left'],
  [0, 'expired'],
  [-9, 'expired'],
])('%i ms: %s', (left, words) => {
  expect(leftWords(NOW + left, NOW)).toBe(words);
});

test('an access request names its kind', () => {
  const request = {
    id: 'r',
    name: 'Phone',
    address: '192.168.1.7',
    compare: null,
    askedAt: 0,
    expiresAt: 1,
    sessionId: null,
  };
  expect(accessRequestWords({ ...request, kind: 'ios' })).toBe('The OpenAgents app at 192.168.1.7 wants to connect.');
  expect(accessRequestWords({ ...request, kind: 'pair' })).toBe('A device at 192.168.1.7 wants to pair.');
});

test('each endpoint has a URL', () => {
  const network = {
    lan: true,
    ios: 'ask' as const,
    computer: 'mac',
    fingerprint: null,
    certificateUntil: null,
    problem: null,
    fixed: false,
    names: [],
  };
  const listeners = [
    { kind: 'loopback', address: '127.0.0.1:9099' } as const,
    { kind: 'web', address: '192.168.1.5:9443' } as const,
    { kind: 'app', address: '192.168.1.5:9099' } as const,
  ];
  expect(endpoints({ ...network, listeners }).map(({ address }) => address)).toEqual([
    'http://127.0.0.1:9099',
    'https://192.168.1.5:9443',
    'ws://192.168.1.5:9099',
  ]);
});

test('audit actions have texts', () => {
  expect([actionWords('session/prompt'), actionWords('pair.allowed'), actionWords('_openagents/new')]).toEqual([
    'Sent a prompt',
    'Allowed a device',
    '_openagents/new',
  ]);
});

test('a fingerprint is read in groups', () => {
  expect(fingerprintGroups('AA:BB:CC:DD:EE')).toEqual(['AA:BB:CC:DD', 'EE']);
});

test('a scope holds the ones before it', () => {
  expect([holds('approve', 'prompt'), holds('view', 'prompt'), holds('admin', 'admin')]).toEqual([true, false, true]);
  expect(limitWords('view', 'mac')).toBe('This device can view. Change its access on mac.');
  expect(limitWords('prompt', null)).toBe('This device can view and prompt. Change its access on the computer.');
});
