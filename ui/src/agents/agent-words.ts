import type { AgentCard, Decision } from '../connection/agents-wire';

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

/** What an agent is called that the bridge has not told of. */
export function agentName(id: string): string {
  return NAMES[id] ?? id.replace(/^custom:/, '');
}

/** `GPTOSS 20B`, `Answered from what was found`, `Choose an agent`, `Claude Code instead of Codex`. */
export function routedWords(decision: Decision, nameOf: (id: string) => string): string {
  if (decision.inline === 'find') return 'Answered from what was found';
  if (decision.inline === 'card') return 'Choose an agent';
  const who = nameOf(decision.target);
  return decision.insteadOf === undefined ? who : `${who} instead of ${nameOf(decision.insteadOf)}`;
}

/** How prompts reach an agent, for people. */
export function reachedWords(card: AgentCard): string {
  switch (card.transport) {
    case 'acp':
      return card.adapter === null ? 'ACP' : `ACP through ${card.adapter}`;
    case 'cli':
      return 'its command line';
    case 'openai':
      return 'an OpenAI-compatible address';
    default:
      return card.transport ?? '';
  }
}

/** What stands between backticks in a remedy, where it is a command that a person can run. */
export function commandIn(remedy: string): string | null {
  return /`([^`]+\s[^`]+)`/.exec(remedy)?.[1] ?? null;
}
