/** The bridge's extensions of ACP v1. The standard types come from the SDK. */
import type { SessionInfo, SessionUpdate } from '@agentclientprotocol/sdk';
import type { Approval } from './agents-wire';
import type { QueuedPrompt } from './devices-wire';

export type { SessionInfo, SessionUpdate };

export const METHODS = {
  explore: '_openagents/explore',
  attach: '_openagents/attach',
  detach: '_openagents/detach',
  update: '_openagents/update',
  workspaces: '_openagents/workspaces',
  markdown: '_openagents/markdown',
  inspect: '_openagents/inspect',
  frame: '_openagents/frame',
  activity: '_openagents/activity',
  models: '_openagents/models',
  agents: '_openagents/agents',
  privacy: '_openagents/privacy',
  approvals: '_openagents/approvals',
  delegate: '_openagents/delegate',
  devices: '_openagents/devices',
  trust: '_openagents/trust',
  access: '_openagents/access',
  sessions: '_openagents/sessions',
  snapshot: '_openagents/snapshot',
  queue: '_openagents/queue',
  history: '_openagents/history',
  historyChanged: '_openagents/history/changed',
  historySettings: '_openagents/history/settings',
} as const;

export interface TrustedWorkspace {
  path: string;
  /** Name of the client on which it was trusted. */
  by: string;
  /** When, in milliseconds since the epoch. */
  at: number;
}

/** The folders in which agents may start. */
export interface TrustSnapshot {
  workspaces: TrustedWorkspace[];
}

export interface UpdateParams {
  sessionId: string;
  update: SessionUpdate;
  _meta?: { openagents?: UpdateMeta } | null;
}

export interface UpdateMeta {
  seq?: number;
  ts?: number;
  /** It belongs to a delegate's session: this is the call that started the delegate. */
  parentCallId?: string;
  childSessionId?: string;
  /** Part of a snapshot that stands for several entries; `seq` is the last one's. */
  folded?: boolean;
  /** When the last of those entries was stored. */
  lastTs?: number;
  /** The user took the turn back, in the log of another agent. */
  takenBack?: boolean;
}

/** `_meta.openagents` of a prompt in the log: its sender, and the sender's id for it. */
export interface PromptMeta {
  connection?: string;
  client?: string;
  promptId?: string;
  /** It was removed from the queue before its turn. */
  removed?: boolean;
}

export interface Update {
  params: UpdateParams;
  seq: number;
  /** Milliseconds since the epoch, by the bridge's clock. */
  ts: number;
  /** Size of the whole frame. */
  bytes: number;
}

export interface ExploreResult {
  sessionId: string;
}

export interface AttachResult {
  sessionId: string;
  /** The newest entry of the log at this moment. */
  seq: number;
  running: boolean;
  mode: string;
  title?: string | null;
  /** Pending approvals; a log that is sent as a snapshot may lack them. */
  approvals: Approval[];
  queue: QueuedPrompt[];
  /** A snapshot follows that stands for all entries up to `seq` and replaces what this page has of the session. */
  snapshot?: { seq: number; since?: number } | null;
}

/** Params of `_openagents/snapshot`: the end of the snapshot. */
export interface SnapshotParams {
  sessionId: string;
  seq: number;
}

/** Params of `_openagents/queue`. */
export interface QueueParams {
  sessionId: string;
  queued: QueuedPrompt[];
  running: boolean;
}

/** Params of `_openagents/sessions`: changes to the list. */
export interface SessionsParams {
  sessions: SessionInfo[];
  removed: string[];
  /** This page missed changes and has to reload the list. */
  reset?: boolean;
}

export interface WorkspaceInfo {
  path: string;
  name: string;
  /** Milliseconds since the epoch. */
  lastActive: number;
  sessions?: number;
}

export interface WorkspacesResult {
  workspaces: WorkspaceInfo[];
  root?: string | null;
}

/** Part of an update's JSON as it is stored. */
export interface UpdatePage {
  text: string;
  nextOffset?: number | null;
}

export interface Frame {
  n: number;
  ts: number;
  connection: string;
  door: string;
  client?: string | null;
  direction: 'in' | 'out';
  method?: string | null;
  id?: string | number | null;
  bytes: number;
  /** Cut if it is long. */
  json: string;
}

/** `_meta.openagents` of a row of `session/list`. */
export interface SessionMeta {
  running?: boolean;
  waiting?: number;
  pinned?: true;
  archived?: true;
}

/** `_meta.openagents` of a plan entry. */
export interface EntryMeta {
  tool?: string;
  error?: string;
}

/** `_meta.openagents` of a plan. */
export interface PlanMeta {
  planId?: string;
  goals?: string[];
  state?: string;
}

/** `_meta.openagents` of a tool call and of its updates. */
export interface ToolMeta {
  progress?: number;
  note?: string;
  truncated?: boolean;
  timedOut?: boolean;
  error?: string;
  /** It arrived after its turn was cancelled. */
  late?: boolean;
  /** The approval that the call waits for, or its outcome. */
  approval?: Approval;
  /** The output was shortened for transport; the bridge's log has all of it. */
  pruned?: boolean;
  /** The log entry with the whole output, if the call is folded. */
  outputSeq?: number;
  /** The session of the sub-agent that the call started, in the log of another agent. */
  childSessionId?: string;
}

export interface FileEvidence {
  kind: 'file';
  path: string;
  line: number;
  text: string;
}

export interface SessionEvidence {
  kind: 'session';
  provider: string;
  session_id: string;
  line: number;
  text: string;
}

export type Evidence = FileEvidence | SessionEvidence;

interface FindingBase {
  /** First line, from 1, of the file or of the session's log. */
  start: number;
  /** Last line, inclusive. */
  end: number;
  /** The lines, cut to 4 KiB. */
  excerpt: string;
  /** The enclosing definition, or the title of the session. */
  symbol?: string;
  /** Relative to the best finding of the same question, which has 1. */
  score: number;
  /** One line: the matched terms in backticks and the signals that counted. */
  why: string;
}

export interface FileFinding extends FindingBase {
  kind: 'definition' | 'usage' | 'text';
  /** Relative to the workspace, with `/`. */
  path: string;
}

export interface SessionFinding extends FindingBase {
  kind: 'session';
  provider: string;
  session_id: string;
}

/** A ranked location in code or history that answers a goal. */
export type Finding = FileFinding | SessionFinding;

/** `_meta.openagents.findings` of a message. The message text repeats them for clients that cannot draw findings. */
export interface Findings {
  /** Best first; at most ten. */
  findings: Finding[];
  /** What to try next; present when nothing was found. */
  hint?: string;
  /** The search stopped at its limit. */
  truncated?: boolean;
  /** Words of the question that no file contains, if they are most of it. */
  missing?: string[];
}

export interface RecentWork {
  title: string;
  provider: string;
  session_id: string;
  /** Milliseconds since the epoch. */
  updated_at: number;
}

/** What a model is doing; replaces the previous activity and is not logged. */
export type Activity =
  | { state: 'waiting' }
  | { state: 'loading'; progress: number }
  | { state: 'reading_prompt'; progress: number }
  | { state: 'generating'; tokens: number; tokensPerSecond: number };

export interface ActivityParams {
  sessionId: string;
  /** Null when nothing is running. */
  activity: Activity | null;
}

/** Statistics of a model's answer: `_meta.openagents.usage` of its last chunk. */
export interface Usage {
  tokens: number;
  tokensPerSecond: number;
  firstTokenMs: number;
  memoryBytes: number;
}

export interface ModelsSnapshot {
  models: ModelCard[];
  settings: ModelSettings;
  machine: { memoryBytes: number; freeMemoryBytes: number; freeDiskBytes: number };
  folder: string;
}

export interface ModelCard {
  id: string;
  name: string;
  path: string | null;
  sizeBytes: number | null;
  status: ModelStatus;
  /** It answers prompts sent to the local model. */
  inUse: boolean;
  /** One sentence each, worst first. */
  warnings: string[];
  memoryBytes: number | null;
  contextTokens: number | null;
  /** Milliseconds since the epoch. */
  lastUsed: number | null;
  usage: Usage | null;
  /** Null for a file without a manifest. */
  verified: boolean | null;
  offer: DownloadOffer | null;
}

export interface DownloadOffer {
  source: string;
  licence: string;
  licenceUrl: string;
  licenceAccepted: boolean;
}

/** Sizes in bytes, progress from 0 to 1. */
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

export type Effort = 'low' | 'medium' | 'high';

export interface ModelSettings {
  temperature: number;
  topP: number;
  /** Null for no limit. */
  maxTokens: number | null;
  effort: Effort;
  /** 0 for never. */
  idleMinutes: number;
  preload: boolean;
  /** Id of the model in use; null for the default one. */
  model: string | null;
}

/** `_meta.openagents` of a message or a thought. */
export interface SpeechMeta {
  summary?: Summary;
  findings?: Findings;
  usage?: Usage;
  /** The turn ends with it. */
  ended?: boolean;
  /** Its turn failed; the text is the reason, after `❌ `. */
  failed?: boolean;
  /** It arrived after its turn was cancelled. */
  late?: boolean;
}

/** `_meta.openagents.summary` of the last message of an exploration. */
export interface Summary {
  repository: string;
  intent?: string | null;
  source: string;
  /** The name of the model, if the source is `model`. */
  model?: string;
  recent_work?: RecentWork[];
  /** Files that past sessions edited, most often first. */
  top_files?: string[];
  followups?: string[];
  evidence?: Evidence[];
  /** Same list as in the preceding findings message. */
  findings?: Finding[];
}

/** Reads our part of a `_meta` object and ignores the rest. */
export function openagents<T>(meta: unknown): Partial<T> {
  if (typeof meta !== 'object' || meta === null) return {};
  const own = (meta as Record<string, unknown>)['openagents'];
  return typeof own === 'object' && own !== null ? (own) : {};
}
