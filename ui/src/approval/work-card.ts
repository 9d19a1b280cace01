import type { Approval, ApprovalOption } from '../connection/agents-wire';

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
