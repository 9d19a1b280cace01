import { type ClientAccess, METHODS } from '../connection/protocol';
import type { AgentFile, Approval, TrustQuestion, TrustSnapshot } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import { plain } from '../kit/text';
import { plural } from '../words/amounts';
import { baseName } from '../words/places';

/** The headings of the groups of files, by risk, most dangerous first. */
const RISKS = {
  programs: 'Programs, and what may run',
  redirects: 'Where agents connect to',
  instructions: 'Instructions for the model',
} as const;
type Risk = keyof typeof RISKS;

export type { AgentFile, TrustQuestion };

/** Returns the question about trust of an approval; null for an agent's question. */
export function trustQuestion({ subject, rawInput }: Approval): TrustQuestion | null {
  if (subject !== 'trust' || typeof rawInput !== 'object' || rawInput === null) return null;
  const { workspace, agent, files } = rawInput as Partial<TrustQuestion>;
  return typeof workspace === 'string' && typeof agent === 'string' && Array.isArray(files)
    ? (rawInput as TrustQuestion)
    : null;
}

/** The files by risk, most dangerous first. */
export function byRisk(files: readonly AgentFile[]): { heading: string; files: AgentFile[] }[] {
  const groups = (Object.keys(RISKS) as Risk[]).map((risk) => ({
    heading: RISKS[risk],
    files: files.filter((file) => file.risk === risk),
  }));
  return groups.filter((group) => group.files.length > 0);
}

/** `Codex, Gemini CLI, Qwen Code and 4 more` */
export function loadedBy({ agents }: AgentFile): string {
  const named = agents.slice(0, 3).map(plain).join(', ');
  return agents.length > 3 ? `${named} and ${agents.length - 3} more` : named;
}

/** `Trust “app”?` */
export const trustTitle = ({ workspace }: TrustQuestion): string => `Trust “${plain(baseName(workspace))}”?`;

/** What the agent does without asking, one sentence each. */
export function byItself({ agent, decidesWhatItAsks = false, deletes = 0 }: TrustQuestion): string[] {
  const asks = decidesWhatItAsks ? [`${plain(agent)} may act without asking you.`] : [];
  const sweeps = deletes > 0 ? [`${plain(agent)} deletes ${plural(deletes, 'session')} the next time it runs.`] : [];
  return [...asks, ...sweeps];
}

/** `Trusted on Desktop` */
export function trustOutcome(approval: Approval): string {
  const { optionId, by } = approval.state === 'answered' ? approval : {};
  const where = by || 'another device';
  return optionId === 'trust' ? `Trusted on ${where}` : `Declined on ${where}`;
}

/** Whether this device may answer an approval. Folders can only be trusted on the computer itself. */
export const isAnsweredHere = ({ subject }: Approval, { device }: Pick<ClientAccess, 'device'>): boolean =>
  subject !== 'trust' || device === null;

/** The kind of answer that an approval needs. */
const kindOf = ({ subject }: Approval): 'trust' | 'approval' => (subject === 'trust' ? 'trust' : 'approval');

/** The kind of answer that the first pending approval needs; null if none is pending. */
export function awaited(approvals: readonly Approval[]): 'trust' | 'approval' | null {
  const pending = approvals.find(({ state }) => state === 'pending');
  return pending === undefined ? null : kindOf(pending);
}

/** `Waiting for trust on Mac.` */
export function waitingWords(approval: Approval, computer: string | null): string {
  return `Waiting for ${kindOf(approval)} on ${computer ?? 'the computer'}.`;
}

/** The folders in which agents may start. */
export class Trusted extends SnapshotClient<TrustSnapshot> {
  constructor(link: Link) {
    super(link, METHODS.trust);
  }

  revoke(path: string): Promise<boolean> {
    return this.act('revoke', { path }, path);
  }
}
