import { RequestError } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import type { Agents } from '../agents/agents.svelte';
import type { PastSession } from '../connection/wire';
import { Continuing } from './continuing.svelte';

const past: PastSession = {
  provider: 'codex',
  agent: 'Codex',
  id: 'a',
  title: 'Fix the tide',
  cwd: '/w',
  branch: null,
  model: null,
  createdAt: null,
  updatedAt: 1,
  resume: null,
};
const copyOf: PastSession = { ...past, kept: { goneSince: 1, reason: 'deleted' } };

/** Answers requests to continue one after the other. */
function started({
  answers = [] as (string | Error)[],
  supports = ['session/resume', 'session/fork'],
  mayPrompt = true,
  isHere = true,
} = {}) {
  const calls: unknown[] = [];
  const shown: string[] = [];
  const agents = {
    supports: (id: string, what: string) => id === 'codex' && supports.includes(what),
    continueSession: (...call: unknown[]) => {
      calls.push(call);
      const answer = answers.shift() ?? 'new';
      return typeof answer === 'string' ? Promise.resolve(answer) : Promise.reject(answer);
    },
  } as unknown as Agents;
  return {
    continuing: new Continuing(
      agents,
      () => ({ mayPrompt, isHere }),
      (id) => shown.push(id),
    ),
    calls,
    shown,
  };
}

/** Until all promises that are ready have been handled. */
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));
const open = new RequestError(-32000, 'Open in a terminal since 14:02.', { code: 'open' });

describe('continuing', () => {
  test.each([
    [past, {}, true],
    [past, { mayPrompt: false }, false],
    [past, { supports: ['session/list'] }, false],
    [{ ...past, cwd: null }, {}, false],
    [{ ...past, folderMissing: true }, {}, false],
    [{ ...past, needsBrief: true }, {}, false],
    [copyOf, {}, true],
    [copyOf, { isHere: false }, false],
  ])('is possible where the agent can open the session: %#', (session, what, expected) => {
    expect(started(what).continuing.isPossible(session)).toBe(expected);
  });

  test('shows the session that continues', async () => {
    const { continuing, calls, shown } = started({ answers: ['ours'] });
    continuing.begin(past);
    expect(continuing.busy).toBe(true);
    await settled();
    expect([calls, shown]).toEqual([[['codex', '/w', 'a', false]], ['ours']]);
  });

  test('asks before a log is written back', async () => {
    const { continuing, calls } = started();
    continuing.begin(copyOf);
    expect(continuing.question(copyOf)).toEqual({ about: 'restore' });
    expect(continuing.question({ ...copyOf, id: 'b' })).toBeNull();
    expect(calls).toEqual([]);
    continuing.confirm(copyOf);
    await settled();
    expect([calls, continuing.question(copyOf)]).toEqual([[['codex', '/w', 'a', false]], null]);
  });

  test('offers a copy of a session that is open elsewhere', async () => {
    const { continuing, calls, shown } = started({ answers: [open, 'copied'] });
    continuing.begin(past);
    await settled();
    expect(continuing.question(past)).toEqual({ about: 'copy', why: 'Open in a terminal since 14:02.' });
    continuing.confirm(past);
    await settled();
    expect([calls[1], shown]).toEqual([['codex', '/w', 'a', true], ['copied']]);
  });

  test('shows why an agent that cannot copy refuses, at that session only', async () => {
    const { continuing } = started({ answers: [open], supports: ['session/resume'] });
    continuing.begin(past);
    await settled();
    expect(continuing.problem(past)).toBe('Open in a terminal since 14:02.');
    expect(continuing.problem({ ...past, id: 'b' })).toBeNull();
    continuing.dismiss();
    expect(continuing.problem(past)).toBeNull();
  });
});
