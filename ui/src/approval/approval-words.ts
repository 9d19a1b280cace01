import type { Approval, ApprovalOption, FrozenCommand } from '../connection/agents-wire';
import { workCard } from './work-card';

export const allows = (option: ApprovalOption): boolean => option.kind.startsWith('allow');

/** The option that the filled button stands for: to allow this once, in whatever order the agent offers it. */
export function mainOption(options: readonly ApprovalOption[]): ApprovalOption | undefined {
  return options.find((option) => option.kind === 'allow_once') ?? options.find(allows);
}

/** The option that says no to this once, or to all. */
export function refusingOption(options: readonly ApprovalOption[]): ApprovalOption | undefined {
  return options.find((option) => option.kind === 'reject_once') ?? options.find((option) => !allows(option));
}

/** What those are told who were about to answer: `Answered on Phone`. */
export function answeredWords(approval: Approval): string {
  return approval.state === 'answered' ? `Answered on ${approval.by || 'another device'}` : outcomeWords(approval);
}

/** What became of it: `Approved on Phone`. Empty while it is pending. */
export function outcomeWords(approval: Approval): string {
  switch (approval.state) {
    case 'pending':
      return '';
    case 'answered': {
      const option = approval.options.find(({ id }) => id === approval.optionId);
      const card = workCard(approval);
      if (card !== null && option !== undefined) return `${option.name}, chosen on ${approval.by || 'another device'}`;
      const done = option === undefined ? 'Answered' : allows(option) ? 'Approved' : 'Rejected';
      const always = option?.kind.endsWith('always') === true ? `, “${option.name}”` : '';
      return `${done} on ${approval.by || 'another device'}${always}`;
    }
    case 'expired':
      return 'Nobody answered before the turn ended.';
    case 'withdrawn':
      return `${approval.agent} is gone and no longer waits for an answer.`;
  }
}

/** The agent states what would be done, beyond the title: only then is the same question known when it comes again. */
export function statesWhat({ command, rawInput }: Approval): boolean {
  if (command !== undefined) return true;
  if (typeof rawInput === 'object' && rawInput !== null) return Object.keys(rawInput).length > 0;
  return rawInput !== undefined && rawInput !== null && rawInput !== '';
}

/** The command as a person would type it, with the environment that the agent adds: it may change what is run. */
export function commandLine({ program, args, environment = [] }: FrozenCommand): string {
  const variables = environment.map(([name, value]) => `${name}=${quoted(value)}`);
  return [...variables, ...[program, ...args].map(quoted)].join(' ');
}

/** A command that the agent names in its raw input, which is a claim and no more. */
export function claimedCommand(rawInput: unknown): string | null {
  if (typeof rawInput !== 'object' || rawInput === null) return null;
  const { command } = rawInput as { command?: unknown };
  if (typeof command === 'string' && command !== '') return command;
  return Array.isArray(command) && command.length > 0 && command.every((part) => typeof part === 'string') ? command.map(quoted).join(' ') : null;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
