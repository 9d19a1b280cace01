import { expect, test } from 'vitest';
import { deletionWords, keptWords, nextDeletion } from './keep-words';

const soon = (agent: string, now: number, days = 30) => ({ provider: agent, agent, now, days, managed: false });

test('deletions name the agents and their days', () => {
  expect(deletionWords([])).toBe('Agents delete and rewrite their sessions.');
  expect(deletionWords([soon('Claude Code', 0)])).toBe('Claude Code deletes sessions after 30 days.');
  expect(deletionWords([soon('Claude Code', 0), soon('Gemini CLI', 0)])).toBe(
    'Claude Code and Gemini CLI delete sessions after 30 days.',
  );
  expect(deletionWords([soon('Claude Code', 0, 1), soon('Gemini CLI', 0)])).toBe(
    'Claude Code deletes sessions after 1 day. Gemini CLI deletes sessions after 30 days.',
  );
  expect([0, 1, 12].map((now) => nextDeletion(soon('Claude Code', now)))).toEqual([
    null,
    'Claude Code deletes 1 session the next time it starts.',
    'Claude Code deletes 12 sessions the next time it starts.',
  ]);
});

test('a kept copy says who deleted the log, and when', () => {
  const goneSince = new Date(2026, 10, 12, 12).getTime();
  expect(keptWords('Codex', { goneSince, reason: 'deleted' })).toBe('Kept copy · deleted in Codex on 12 Nov');
  expect(keptWords('Claude Code', { goneSince, reason: 'retention' })).toBe(
    'Kept copy · deleted by Claude Code on 12 Nov',
  );
  expect(keptWords('Codex', { reason: 'unknown' })).toBe('Kept copy · its log no longer exists');
});
