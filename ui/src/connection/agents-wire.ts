/** Wire types for agents, routing decisions and approvals. */

/** The protocol's option kinds, and `other` for one that it does not have. Ids mean different things to different agents. */
export type OptionKind = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'other';

export interface ApprovalOption {
  id: string;
  name: string;
  kind: OptionKind;
}

/** A command in an approval. Nothing but `text` is shown as the command. */
export interface ApprovalCommand {
  /** A command line that a shell reads as exactly what runs, or the agent's own words; absent in old logs. */
  text?: string;
  /** Bytes of the text that are missing: it is too long to be approved. */
  omitted?: number;
  /** The canonical path of the program; absent if the agent runs the command by itself. */
  program?: string;
  /** The path by which it was found, if that is another one. */
  called?: string;
  cwd?: string;
  /** Files of the workspace that the command names; it runs only if they have not changed. */
  digests?: { path: string; sha256: string }[];
  /** Programs that run other files, and words whose value only the shell knows: what they run can change until then. */
  unpinned?: string[];
}

/** An "always", from `_openagents/approvals/rules`. */
export interface StandingRule {
  approvalId: string;
  sessionId: string;
  agentId: string;
  agent: string;
  command: ApprovalCommand;
  /** Name of the client that answered. */
  by: string;
  /** In milliseconds since the epoch. */
  at: number;
}

/** A permission request of an agent. The newest state per id wins. */
export interface Approval {
  id: string;
  /** `trust`: whether agents may start in a folder; otherwise absent. */
  subject?: 'trust';
  callId: string;
  agent: string;
  title: string;
  /** The agent's raw input, verbatim. */
  rawInput?: unknown;
  hash: string;
  /** Absent if the agent did not state the command. */
  command?: ApprovalCommand;
  /** In the agent's order. */
  options: ApprovalOption[];
  state: 'pending' | 'answered' | 'expired' | 'withdrawn';
  optionId?: string;
  /** Name of the client that answered. */
  by?: string;
  /** When it was answered, in milliseconds since the epoch. */
  at?: number;
  /** Words for the agent, given with a denial. */
  message?: string;
  askedAt: number;
  /** The raw input was truncated. */
  rawInputCut?: boolean;
  /** Part of its changes is not shown: it can only be denied. */
  cut?: boolean;
  /** Answered after the agent exited: the answer applies once, if the agent asks the same again. */
  unheard?: boolean;
  /** The agent was resumed after it was withdrawn. */
  resumed?: boolean;
}

export interface Decision {
  /** `inline`, `gptoss`, `codex`, `claude`, `custom:<id>`. */
  target: string;
  /** What OpenAgents does itself; absent if the target answers at once. */
  inline?: 'answer' | 'find' | 'card' | 'guidance';
  reason: string;
  insteadOf?: string;
}

export interface PastDecision {
  ts: number;
  sessionId: string;
  /** First 200 characters. */
  prompt: string;
  decision: Decision;
}

/** `_meta.openagents.terminal` of a terminal in a tool call. */
export interface TerminalMeta {
  command?: string | null;
  /** The end of the output. */
  output?: string;
  truncated?: boolean;
  exitCode?: number | null;
  signal?: string | null;
}

export interface AgentsSnapshot {
  agents: AgentCard[];
  settings: AgentSettings;
  /** The PATH of the login shell, where agents are looked up. */
  path: string;
  /** Why the login shell's PATH is unknown, in one sentence each. */
  shell?: { problem: string; remedy: string } | null;
  checking: boolean;
  checkedAt: number | null;
}

export interface AgentCard {
  /** Also its mode: `codex`, `claude-code`, `custom:<id>`. */
  id: string;
  name: string;
  /** It accepts prompts. */
  usable: boolean;
  /** Everything sent to it stays on this machine. */
  local: boolean;
  /** Added by the user. */
  custom: boolean;
  /** No setting is known that makes it ask before it acts. */
  decidesWhatItAsks: boolean;
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
  /** Agents that send data off this machine may start without asking. */
  allowExternalLlms: boolean;
  /** The preferred agent of each folder: agent id by path. */
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
  /** The agent was started. */
  dispatched: boolean;
  notes: string;
}
