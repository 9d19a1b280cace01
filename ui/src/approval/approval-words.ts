import type { Approval, ApprovalOption, FrozenCommand } from '../connection/agents-wire';
import { workCard } from './work-card';

export const allows = (option: ApprovalOption): boolean => option.kind.startsWith('allow');

/** The option of the primary button: allow once, wherever the agent lists it. */
export function mainOption(options: readonly ApprovalOption[]): ApprovalOption | undefined {
  return options.find((option) => option.kind === 'allow_once') ?? options.find(allows);
}

/** The option that denies, preferably only once. */
export function refusingOption(options: readonly ApprovalOption[]): ApprovalOption | undefined {
  return options.find((option) => option.kind === 'reject_once') ?? options.find((option) => !allows(option));
}

/** Shown to someone who was about to answer: `Answered on Phone`. */
export function answeredWords(approval: Approval): string {
  return approval.state === 'answered' ? `Answered on ${approval.by || 'another device'}` : outcomeWords(approval);
}

/** The outcome: `Approved on Phone`. Empty while it is pending. */
export function outcomeWords(approval: Approval): string {
  switch (approval.state) {
    case 'pending':
      return '';
    case 'answered': {
      const option = approval.options.find(({ id }) => id === approval.optionId);
      const card = workCard(approval);
      if (card !== null && option !== undefined) return `${option.name}, chosen on ${approval.by || 'another device'}`;
      const done = option === undefined ? 'Answered' : allows(option) ? 'Approved' : 'Denied';
      const always = option?.kind.endsWith('always') === true ? `, “${option.name}”` : '';
      return `${done} on ${approval.by || 'another device'}${always}`;
    }
    case 'expired':
      return 'Not answered before the turn ended.';
    case 'withdrawn':
      return `${approval.agent} exited before you answered.`;
  }
}

/** Whether the agent states what it would do, beyond the title. Only then can the same question be recognised later. */
export function statesWhat({ command, rawInput }: Approval): boolean {
  if (command !== undefined) return true;
  if (typeof rawInput === 'object' && rawInput !== null) return Object.keys(rawInput).length > 0;
  return rawInput !== undefined && rawInput !== null && rawInput !== '';
}

/** The command as typed in a shell, with the environment variables that the agent adds: they may change what runs. */
export function commandLine({ program, args, environment = [] }: FrozenCommand): string {
  const variables = environment.map(([name, value]) => `${name}=${quoted(value)}`);
  return [...variables, ...[program, ...args].map(quoted)].join(' ');
}

/** The command named in the agent's raw input. It is not verified. */
export function claimedCommand(rawInput: unknown): string | null {
  if (typeof rawInput !== 'object' || rawInput === null) return null;
  const { command } = rawInput as { command?: unknown };
  if (typeof command === 'string' && command !== '') return command;
  return Array.isArray(command) && command.length > 0 && command.every((part) => typeof part === 'string') ? command.map(quoted).join(' ') : null;
}

function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
