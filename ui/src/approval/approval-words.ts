import type { Approval, ApprovalCommand, ApprovalOption, FormField } from '../connection/wire';
import { plain } from '../kit/text';
import { formOf } from './form';
import { trustOutcome } from '../trust/trust';
import { plural } from '../words/amounts';

/** Whether an option may allow something; unknown kinds may. */
export const allows = (option: ApprovalOption): boolean => !option.kind.startsWith('reject');

/** The option of the primary button: allow once. Undefined if there are several. */
export function mainOption(options: readonly ApprovalOption[]): ApprovalOption | undefined {
  const once = options.filter((option) => option.kind === 'allow_once');
  return once.length === 1 ? once[0] : undefined;
}

/** The option of ours that allows edits until the turn ends. */
const ALLOW_EDITS = 'openagents:allow-edits';

/** Sentences that name the options that the agent itself remembers; the agent decides what it then allows. */
export function rememberedOptions({ agent, command, options, subject }: Approval): string[] {
  if (subject === 'trust' || command?.program !== undefined) return [];
  return options
    .filter(({ kind, id }) => kind === 'allow_always' && id !== ALLOW_EDITS)
    .map(({ name }) => `${plain(agent)} remembers “${plain(name)}”.`);
}

/** The option that denies, preferably only once. */
export function refusingOption(options: readonly ApprovalOption[]): ApprovalOption | undefined {
  return options.find((option) => option.kind === 'reject_once') ?? options.find((option) => !allows(option));
}

/** Shown instead of the buttons: `Answered on Phone`. */
export function answeredWords(approval: Approval): string {
  return approval.state === 'answered' ? `Answered on ${approval.by || 'another device'}` : outcomeWords(approval);
}

/** The outcome: `Allowed on Phone`. Empty while it is pending. */
export function outcomeWords(approval: Approval): string {
  switch (approval.state) {
    case 'pending':
      return '';
    case 'answered': {
      if (approval.subject === 'trust') return trustOutcome(approval);
      if (approval.subject === 'question') return questionOutcome(approval);
      const option = approval.options.find(({ id }) => id === approval.optionId);
      const card = workCard(approval);
      if (card !== null && option !== undefined) return `${option.name}, chosen on ${approval.by || 'another device'}`;
      const done = option === undefined || option.kind === 'other' ? 'Answered' : allows(option) ? 'Allowed' : 'Denied';
      const isOne =
        option !== undefined &&
        option.kind.endsWith('once') &&
        approval.options.filter(({ kind }) => kind === option.kind).length === 1;
      const name = option === undefined || isOne ? '' : `, “${option.name}”`;
      const message = approval.message === undefined ? '' : `: “${approval.message}”`;
      return `${done} on ${approval.by || 'another device'}${name}${message}`;
    }
    case 'expired':
      return 'Not answered before the turn ended.';
    case 'withdrawn':
      return `${approval.agent} exited before you answered.`;
  }
}

/** What the user answered, or that they declined. */
function questionOutcome(approval: Extract<Approval, { state: 'answered' }>): string {
  const { options, optionId, by, content } = approval;
  const option = options.find(({ id }) => id === optionId);
  const where = `on ${by || 'another device'}`;
  if (option !== undefined && !allows(option)) return `Declined ${where}`;
  const fields = formOf(approval)?.fields ?? [];
  const given = fields.flatMap((field) => {
    const answer = content?.[field.name];
    if (answer === undefined || answer === null) return [];
    const words = field.secret === true ? '••••' : short(answerWords(field, answer));
    return [fields.length === 1 ? `“${words}”` : `${plain(field.title)}: “${words}”`];
  });
  return given.length === 0 ? `Answered ${where}` : `Answered ${where}: ${given.join(' · ')}`;
}

function answerWords(field: FormField, answer: unknown): string {
  if (field.type === 'boolean') return answer === true ? 'Yes' : 'No';
  const choices = field.type === 'choice' || field.type === 'choices' ? field.choices : [];
  return [answer]
    .flat()
    .map((one) => choices.find(({ value }) => value === one)?.title ?? String(one))
    .join(', ');
}

function short(words: string): string {
  const line = plain(words).replace(/\s+/g, ' ');
  return line.length > 120 ? `${line.slice(0, 119)}…` : line;
}

/** Whether the agent states more than a title. Only then can the same question be recognised later. */
export function statesWhat({ command, rawInput }: Approval): boolean {
  if (command !== undefined) return true;
  if (typeof rawInput === 'object' && rawInput !== null) return Object.keys(rawInput).length > 0;
  return rawInput !== undefined && rawInput !== null && rawInput !== '';
}

/** Whether it can be approved, that is, read in full. */
export function canApprove({ command, cut }: Approval): boolean {
  return cut !== true && (command === undefined || ((command.text ?? '') !== '' && (command.omitted ?? 0) === 0));
}

export function whyNot({ command }: Approval): string {
  if (command === undefined) return "Can't be shown in full. Deny it, or ask the agent for smaller changes.";
  if (command.text === undefined) return 'An earlier version asked this; Resume makes the agent ask again.';
  return `Too long to read: ${plural(Math.ceil((command.omitted ?? 0) / 1024), 'KB', 'KB')} more. Deny it, or ask the agent to put it into a file.`;
}

/** Where and how the command runs. */
export function commandNote(
  { program, called, cwd, digests = [], unpinned = [] }: ApprovalCommand,
  workspace = cwd,
): string {
  if (program === undefined) return "The agent runs this itself; OpenAgents can't enforce it.";
  const files = digests.map(({ path }) =>
    workspace !== undefined && path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path,
  );
  const bound = files.length === 0 ? '' : ` Only with ${listed(files)} unchanged.`;
  const open = unpinned.length === 0 ? '' : ` May run files that can still change: ${listed(unpinned, 'word')}.`;
  return `Runs exactly this command in \`${plain(cwd ?? '')}\`.${called === undefined ? '' : ` The program is \`${plain(program)}\`.`}${bound}${open}`;
}

function listed(files: readonly string[], noun = 'file'): string {
  const shown = files
    .slice(0, 3)
    .map((file) => `\`${plain(file)}\``)
    .join(', ');
  return files.length > 3 ? `${shown} and ${plural(files.length - 3, `more ${noun}`)}` : shown;
}

/** "This is work for an agent", with the agents to choose from. */
export interface WorkCard {
  brief: string;
  agents: { name: string; once: string; always: string | undefined }[];
  refuse: ApprovalOption | undefined;
}

const ALWAYS = 'always:';

/** Returns the work card of an approval; null for an agent's question. */
export function workCard({ agent, rawInput, options }: Approval): WorkCard | null {
  if (agent !== 'OpenAgents' || typeof rawInput !== 'object' || rawInput === null) return null;
  const { brief } = rawInput as { brief?: unknown };
  if (typeof brief !== 'string') return null;
  const always = (id: string): string | undefined => options.find((option) => option.id === ALWAYS + id)?.id;
  const agents = options
    .filter(({ kind }) => kind === 'allow_once')
    .map(({ id, name }) => ({ name, once: id, always: always(id) }));
  return { brief, agents, refuse: options.find(({ kind }) => kind.startsWith('reject')) };
}
