import type { AgentCard, Decision } from '../connection/wire';

const NAMES: Record<string, string> = {
  auto: 'OpenAgents chooses',
  inline: 'OpenAgents',
  default_mode: 'OpenAgents',
  gptoss: 'GPTOSS 20B',
  gptoss_20b: 'GPTOSS 20B',
  local_fm: 'Apple Foundation Models',
  codex: 'Codex',
  claude: 'Claude Code',
  'claude-code': 'Claude Code',
  claude_code: 'Claude Code',
};

/** The display name of an agent that is missing from the bridge's snapshot. */
export function agentName(id: string): string {
  return NAMES[id] ?? id.replace(/^custom:/, '');
}

/** `GPTOSS 20B`, `Answered from search results`, `Choose an agent`, `Claude Code instead of Codex`. */
export function routedWords(decision: Decision, nameOf: (id: string) => string): string {
  if (decision.inline === 'find') return 'Answered from search results';
  if (decision.inline === 'card') return 'Choose an agent';
  const who = nameOf(decision.target);
  return decision.insteadOf === undefined ? who : `${who} instead of ${nameOf(decision.insteadOf)}`;
}

export function reachedWords({ transport, adapter }: AgentCard): string {
  if (transport === 'acp') return adapter === null ? 'ACP' : `ACP through ${adapter}`;
  return transport === 'openai' ? 'OpenAI-compatible API' : (transport ?? '');
}

/** The command between backticks in a remedy; null if there is none to run. */
export function commandIn(remedy: string): string | null {
  return /`([^`]+\s[^`]+)`/.exec(remedy)?.[1] ?? null;
}

/** Ids of the session modes, which name the agent that answers. An agent's mode is its id. */
export const EXPLORER_MODE = 'default_mode';
export const LOCAL_MODE = 'gptoss_20b';
