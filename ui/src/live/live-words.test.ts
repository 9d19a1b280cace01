import { describe, expect, test } from 'vitest';
import type { LiveSession } from '../connection/wire';
import { evidenceWords, liveWords } from './live-words';

const session: LiveSession = {
  provider: 'claude-code',
  agent: 'Claude Code',
  state: 'needs',
  detail: 'approval',
  tool: 'Bash',
  since: 1_000,
  certainty: 'reported',
  evidence: 'Claude Code’s own status: permission prompt',
  place: 'tmux work:2.1',
};

describe('words of live states', () => {
  test.each([
    [session, 'Needs you: approval · 2m · Bash'],
    [{ ...session, state: 'working' as const, detail: undefined, tool: undefined }, 'Working · 2m'],
  ])('say what and for how long: %#', (given, expected) => {
    expect(liveWords(given, 121_000)).toBe(expected);
  });

  test('say why, and where', () => {
    expect(evidenceWords(session)).toBe('Claude Code’s own status: permission prompt. It runs in tmux work:2.1.');
    const inferred = { ...session, certainty: 'inferred' as const, place: undefined };
    expect(evidenceWords(inferred)).toBe('Claude Code’s own status: permission prompt (inferred).');
  });
});
