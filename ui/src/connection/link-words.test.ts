import { expect, test } from 'vitest';
import { linkTone, linkWords, refusal, type Shown } from './link-words';

test.each<[Shown, string, string]>([
  [{ name: 'live' }, 'Live', 'live'],
  [{ name: 'connecting' }, 'Connecting…', 'busy'],
  [{ name: 'catching-up' }, 'Catching up…', 'busy'],
  [{ name: 'catching-up', left: 0 }, 'Catching up…', 'busy'],
  [{ name: 'catching-up', left: 1240 }, 'Catching up…', 'busy'],
  [{ name: 'offline', since: new Date(2026, 0, 1, 9, 5) }, 'Offline since 09:05', 'off'],
  [{ name: 'refused', why: 'bad-token' }, 'Not allowed', 'off'],
  [{ name: 'removed', computer: 'mac' }, 'Removed on mac', 'off'],
])('%j', (shown, words, tone) => {
  expect([linkWords(shown), linkTone(shown)]).toEqual([words, tone]);
});

test('a refusal tells the user what to do', () => {
  expect(refusal({ name: 'refused', why: 'bad-token' })).toBe(
    'OpenAgents was restarted. Open the address that `openagents serve` printed.',
  );
  expect(refusal({ name: 'refused', why: 'no-token' })).toContain('Run `openagents serve`');
  expect(refusal({ name: 'refused', why: 'unpaired' })).toBe('This device is no longer paired.');
  expect(refusal({ name: 'removed', computer: 'mac' })).toBe('This device was removed on mac.');
});
