import { expect, test } from 'vitest';
import type { Approval, ApprovalOption } from '../connection/agents-wire';
import { claimedCommand, commandLine, mainOption, outcomeWords, statesWhat } from './approval-words';

const OPTIONS: ApprovalOption[] = [
  { id: 'never', name: 'No', kind: 'reject_once' },
  { id: 'always', name: 'Always', kind: 'allow_always' },
  { id: 'once', name: 'Yes', kind: 'allow_once' },
];
const approval = (more: Partial<Approval>): Approval => ({ id: 'a', callId: 'c', agent: 'Codex', title: 'Run ls', hash: 'h', options: OPTIONS, state: 'pending', askedAt: 1, ...more });

test.each<[Partial<Approval>, string]>([
  [{}, ''],
  [{ state: 'answered', optionId: 'once', by: 'Phone' }, 'Approved on Phone'],
  [{ state: 'answered', optionId: 'always', by: 'Phone' }, 'Approved on Phone, “Always”'],
  [{ state: 'answered', optionId: 'never', by: 'Desktop' }, 'Denied on Desktop'],
  [{ state: 'answered', optionId: 'gone', by: 'Desktop' }, 'Answered on Desktop'],
  [{ state: 'answered', optionId: 'once', by: '' }, 'Approved on another device'],
  [{ state: 'expired' }, 'Not answered before the turn ended.'],
  [{ state: 'withdrawn' }, 'Codex exited before you answered.'],
])('%j', (more, words) => expect(outcomeWords(approval(more))).toBe(words));

test('the primary button allows once, in any order; without such an option it allows always', () => {
  expect(mainOption(OPTIONS)?.id).toBe('once');
  expect(mainOption(OPTIONS.slice(0, 2))?.id).toBe('always');
  expect(mainOption(OPTIONS.slice(0, 1))).toBeUndefined();
});

test('commands are quoted for a shell', () => {
  expect(commandLine({ program: '/bin/sh', args: ['-c', "echo 'a b'"], cwd: '/' })).toBe(`/bin/sh -c 'echo '\\''a b'\\'''`);
  expect(commandLine({ program: 'ls', args: [], cwd: '/', environment: [['LD_PRELOAD', './a b.so'], ['X', '']] })).toBe("LD_PRELOAD='./a b.so' X='' ls");
});

test.each<[unknown, string | null]>([
  [{ command: 'ls -l' }, 'ls -l'],
  [{ command: ['rm', 'a b'] }, "rm 'a b'"],
  [{ command: [] }, null],
  [{ command: [1] }, null],
  ['ls', null],
  [null, null],
])('%j claims %j', (input, command) => expect(claimedCommand(input)).toBe(command));

test.each<[Partial<Approval>, boolean]>([
  [{}, false],
  [{ rawInput: null }, false],
  [{ rawInput: {} }, false],
  [{ rawInput: { path: 'a.rs' } }, true],
  [{ rawInput: 'ls' }, true],
  [{ command: { program: 'ls', args: [], cwd: '/' } }, true],
])('an approval can be answered in advance only if it states what would be done: %j', (more, states) => expect(statesWhat(approval(more))).toBe(states));
