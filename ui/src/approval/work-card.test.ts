import { expect, test } from 'vitest';
import type { Approval } from '../connection/agents-wire';
import { workCard } from './work-card';

const approval = (more: Partial<Approval>): Approval => ({
  id: 'a',
  callId: 'c',
  agent: 'OpenAgents',
  title: 'This is work for an agent',
  rawInput: { brief: 'Fix it' },
  hash: '',
  options: [
    { id: 'codex', name: 'Codex', kind: 'allow_once' },
    { id: 'always:codex', name: 'Always Codex in this folder', kind: 'allow_always' },
    { id: 'not-now', name: 'Not now', kind: 'reject_once' },
  ],
  state: 'pending',
  askedAt: 0,
  ...more,
});

test('a card offers each agent once, and always', () => {
  const card = workCard(approval({}));
  expect(card?.agents).toEqual([{ name: 'Codex', once: 'codex', always: 'always:codex' }]);
  expect(card?.refuse?.id).toBe('not-now');
});

test("an agent's question is not a work card", () => {
  expect(workCard(approval({ agent: 'Codex' }))).toBeNull();
  expect(workCard(approval({ rawInput: { command: 'ls' } }))).toBeNull();
});
