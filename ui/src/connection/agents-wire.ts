/** What the bridge says of agents: who there is, who answers, and what they ask for. */

/** The protocol's kinds of options: two agents mean different things by the same id. */
export type OptionKind = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always';

export interface ApprovalOption {
  id: string;
  /** What stands on the button. */
  name: string;
  kind: OptionKind;
}

/** Exactly this is run, or nothing. */
export interface FrozenCommand {
  program: string;
  args: string[];
  cwd: string;
  /** What the agent adds to the environment, by name, in its order. */
  environment?: [string, string][];
}

/** A permission that an agent asks for; the newest of one id counts. */
export interface Approval {
  id: string;
  callId: string;
  /** Name of the agent, for people. */
  agent: string;
  title: string;
  /** What the agent states, verbatim. */
  rawInput?: unknown;
  hash: string;
  /** Absent means that nobody has stated what is run. */
  command?: FrozenCommand;
  /** In the agent's order. */
  options: ApprovalOption[];
  state: 'pending' | 'answered' | 'expired' | 'withdrawn';
  optionId?: string;
  /** Name of the client that answered. */
  by?: string;
  /** When it was answered, in milliseconds since the epoch. */
  at?: number;
  askedAt: number;
  /** The raw input is too long to be shown whole. */
  rawInputCut?: boolean;
  /** Answered when nobody waited for it: the answer counts once, when the same is asked again. */
  unheard?: boolean;
  /** The agent was told to go on after it was withdrawn. */
  resumed?: boolean;
}

/** Who answers a prompt that was left to OpenAgents, and why. */
export interface Decision {
  /** `inline`, `gptoss`, `codex`, `claude`, `custom:<id>`. */
  target: string;
  /** How OpenAgents goes on; absent where the target answers at once. */
  inline?: 'answer' | 'find' | 'card' | 'guidance';
  reason: string;
  insteadOf?: string;
}

export interface PastDecision {
  ts: number;
  sessionId: string;
  /** Its first 200 characters. */
  prompt: string;
  decision: Decision;
}

/** `_meta.openagents.terminal` of a terminal that a tool call shows. */
export interface TerminalMeta {
  command?: string | null;
  /** The end of the output. */
  output?: string;
  truncated?: boolean;
  exitCode?: number | null;
  signal?: string | null;
}

/** How the agents of this machine stand. */
export interface AgentsSnapshot {
  agents: AgentCard[];
  settings: AgentSettings;
  /** The PATH of the login shell, in which agents are looked for. */
  path: string;
  checking: boolean;
  checkedAt: number | null;
}

export interface AgentCard {
  /** Its mode as well: `codex`, `claude-code`, `custom:<id>`. */
  id: string;
  name: string;
  /** Prompts can be sent to it. */
  usable: boolean;
  /** Nothing that it is told leaves this machine. */
  local: boolean;
  /** A person added it. */
  custom: boolean;
  /** How prompts reach it: `acp`, `cli` or `openai`. */
  transport: string | null;
  program: string | null;
  version: string | null;
  adapter: string | null;
  supports: string[];
  introducesItself: string | null;
  /** One sentence each. */
  problem: string | null;
  remedy: string | null;
}

export interface AgentSettings {
  /** Prompts in `default_mode` are routed. */
  choose: boolean;
  /** Agents off this machine may be started without asking. */
  allowExternalLlms: boolean;
  /** Who does the work in a folder: the agent's id by the path. */
  workspaceAgents?: Record<string, string>;
  custom: CustomAgent[];
}

export type CustomAgent = { id: string; name: string | null } & (
  | { kind: 'acp'; command: string; args: string[]; env?: Record<string, string>; cwd?: string | null }
  | { kind: 'openai'; baseUrl: string; model: string; keyVariable?: string | null; headers?: Record<string, string> }
);

/** The result of `delegate.run`. */
export interface DelegateReport {
  ok: boolean;
  provider: string;
  /** Somebody was set to work. */
  dispatched: boolean;
  session_id?: string;
  tool_call_id: string;
  notes: string;
}
