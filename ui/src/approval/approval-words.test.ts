import { describe, expect, test } from 'vitest';
import type { Approval, ApprovalOption } from '../connection/wire';
import {
  canApprove,
  commandNote,
  mainOption,
  outcomeWords,
  refusingOption,
  rememberedOptions,
  statesWhat,
  workCard,
} from './approval-words';

const OPTIONS: ApprovalOption[] = [
  { id: 'never', name: 'No', kind: 'reject_once' },
  { id: 'always', name: 'Always', kind: 'allow_always' },
  { id: 'once', name: 'Yes', kind: 'allow_once' },
];
const approval = (more: Partial<Approval>): Approval =>
  ({
    id: 'a',
    callId: 'c',
    agent: 'Codex',
    title: 'Run ls',
    hash: 'h',
    options: OPTIONS,
    state: 'pending',
    askedAt: 1,
    ...more,
  }) as Approval;

test.each<[Partial<Approval>, string]>([
  [{}, ''],
  [{ state: 'answered', optionId: 'once', by: 'Phone' }, 'Allowed on Phone'],
  [{ state: 'answered', optionId: 'always', by: 'Phone' }, 'Allowed on Phone, “Always”'],
  [{ state: 'answered', optionId: 'never', by: 'Desktop' }, 'Denied on Desktop'],
  [{ state: 'answered', optionId: 'never', by: 'Desktop', message: 'Use make' }, 'Denied on Desktop: “Use make”'],
  [{ state: 'answered', optionId: 'gone', by: 'Desktop' }, 'Answered on Desktop'],
  [{ state: 'answered', optionId: 'once', by: '' }, 'Allowed on another device'],
  [{ state: 'expired' }, 'Not answered before the turn ended.'],
  [{ state: 'withdrawn' }, 'Codex exited before you answered.'],
])('%j', (more, words) => expect(outcomeWords(approval(more))).toBe(words));

const ODD: ApprovalOption[] = [
  { id: 'noon', name: 'Allow until noon', kind: 'other' },
  { id: 'a', name: 'Alpha', kind: 'allow_once' },
  { id: 'b', name: 'Bravo', kind: 'allow_once' },
];

test.each<[string, string]>([
  ['noon', 'Answered on Phone, “Allow until noon”'],
  ['b', 'Allowed on Phone, “Bravo”'],
])('the outcome names what was chosen from several: %s', (optionId, words) =>
  expect(outcomeWords(approval({ options: ODD, state: 'answered', optionId, by: 'Phone' }))).toBe(words),
);

test('the primary button allows once; several options or none give no primary button', () => {
  expect(mainOption(OPTIONS)?.id).toBe('once');
  expect(mainOption(OPTIONS.slice(0, 2))).toBeUndefined();
  expect(mainOption(OPTIONS.slice(0, 1))).toBeUndefined();
  expect(mainOption(ODD)).toBeUndefined();
  expect(mainOption(ODD.slice(0, 1))).toBeUndefined();
  expect(refusingOption(ODD)).toBeUndefined();
});

test('agents remember their "always"; OpenAgents remembers that of its own commands', () => {
  expect(rememberedOptions(approval({}))).toEqual(['Codex remembers “Always”.']);
  expect(rememberedOptions(approval({ command: { text: 'ls' } }))).toEqual(['Codex remembers “Always”.']);
  expect(rememberedOptions(approval({ command: { text: 'ls', program: '/bin/ls', cwd: '/' } }))).toEqual([]);
  expect(rememberedOptions(approval({ subject: 'trust' }))).toEqual([]);
  const edits = { id: 'openagents:allow-edits', name: 'Allow edits', kind: 'allow_always' } as const;
  expect(rememberedOptions(approval({ options: [edits] }))).toEqual([]);
  expect(rememberedOptions(approval({ options: ODD }))).toEqual([]);
});

test.each<[Partial<Approval>, boolean]>([
  [{}, true],
  [{ command: { text: '/bin/ls', program: '/bin/ls', cwd: '/' } }, true],
  [{ command: { text: 'ls' } }, true],
  [{ command: { text: '/bin/echo x', omitted: 3, program: '/bin/echo' } }, false],
  [{ command: { text: '', program: '/bin/ls', cwd: '/' } }, false],
])('only a fully readable question can be approved: %j', (more, can) => expect(canApprove(approval(more))).toBe(can));

test('the note below a command says who enforces it', () => {
  const exact = { text: '/usr/bin/sh a.sh', program: '/usr/bin/dash', called: '/usr/bin/sh', cwd: '/proj' };
  expect(commandNote(exact)).toBe('Runs exactly this command in `/proj`. The program is `/usr/bin/dash`.');
  const digests = ['a.sh', 'b', 'c', 'd'].map((name) => ({ path: `/proj/${name}`, sha256: '0' }));
  expect(commandNote({ text: 'x', program: '/x', cwd: '/proj', digests })).toBe(
    'Runs exactly this command in `/proj`. Only with `a.sh`, `b`, `c` and 1 more file unchanged.',
  );
  expect(commandNote({ text: 'x', program: '/x', cwd: '/proj', unpinned: ['make', '$X'] })).toBe(
    'Runs exactly this command in `/proj`. May run files that can still change: `make`, `$X`.',
  );
  expect(commandNote({ text: 'x', program: '/x', cwd: '/pr\u202eoj' })).toBe(
    'Runs exactly this command in `/pr\\u{202e}oj`.',
  );
  expect(commandNote({ text: 'ls' })).toBe("The agent runs this itself; OpenAgents can't enforce it.");
});

test.each<[Partial<Approval>, boolean]>([
  [{}, false],
  [{ rawInput: null }, false],
  [{ rawInput: {} }, false],
  [{ rawInput: { path: 'a.rs' } }, true],
  [{ rawInput: 'ls' }, true],
  [{ command: { text: 'ls', program: 'ls', cwd: '/' } }, true],
])('an approval can be answered in advance only if it states what would be done: %j', (more, states) =>
  expect(statesWhat(approval(more))).toBe(states),
);

describe('work cards', () => {
  const approval = (more: Partial<Approval>): Approval =>
    ({
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
    }) as Approval;

  test('a card offers each agent once, and always', () => {
    const card = workCard(approval({}));
    expect(card?.agents).toEqual([{ name: 'Codex', once: 'codex', always: 'always:codex' }]);
    expect(card?.refuse?.id).toBe('not-now');
  });

  test("an agent's question is not a work card", () => {
    expect(workCard(approval({ agent: 'Codex' }))).toBeNull();
    expect(workCard(approval({ rawInput: { command: 'ls' } }))).toBeNull();
  });
});
