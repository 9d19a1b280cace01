/** What the bridge adds to ACP v1. The standard shapes come from the SDK. */
import type { SessionInfo, SessionUpdate } from '@agentclientprotocol/sdk';

export type { SessionInfo, SessionUpdate };

export const METHODS = {
  explore: '_openagents/explore',
  attach: '_openagents/attach',
  update: '_openagents/update',
  workspaces: '_openagents/workspaces',
  markdown: '_openagents/markdown',
  inspect: '_openagents/inspect',
  frame: '_openagents/frame',
} as const;

/** One numbered entry of a session's log, as it comes over the wire. */
export interface UpdateParams {
  sessionId: string;
  update: SessionUpdate;
  _meta?: { openagents?: { seq?: number; ts?: number } } | null;
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
  planId: string;
  status: 'started';
}

export interface AttachResult {
  sessionId: string;
  /** The newest entry of the log at this moment. */
  seq: number;
  running: boolean;
}

export interface WorkspaceInfo {
  path: string;
  name: string;
  /** Milliseconds since the epoch, or an ISO date. */
  lastActive?: number | string | null;
  sessions?: number;
}

export interface WorkspacesResult {
  workspaces: WorkspaceInfo[];
  root?: string | null;
}

/** A part of an update's JSON as it is stored. */
export interface UpdatePage {
  text: string;
  offset: number;
  nextOffset?: number | null;
  total: number;
}

export interface Frame {
  n: number;
  ts: number;
  connection: string | number;
  door: string;
  client?: string | null;
  direction: 'in' | 'out';
  method?: string | null;
  id?: string | number | null;
  bytes: number;
  json: unknown;
}

/** `_meta.openagents` of a row of `session/list`. */
export interface SessionMeta {
  running?: boolean;
}

/** `_meta.openagents` of a plan entry. */
export interface EntryMeta {
  opId?: string;
  opHash?: number;
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
  omitted?: number;
  error?: string;
  late?: boolean;
  /** The output was shortened on its way; the bridge's log has all of it. */
  pruned?: boolean;
  stage?: string;
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

export interface RecentWork {
  title: string;
  provider: string;
  session_id: string;
  updated_at: number | string;
}

/** `_meta.openagents.summary` of the last message of an exploration. */
export interface Summary {
  repository: string;
  intent?: string | null;
  source: string;
  recent_work?: RecentWork[];
  top_files?: string[];
  followups?: string[];
  evidence?: Evidence[];
}

/** Reads our part of a `_meta` object, whatever else it holds. */
export function openagents<T>(meta: unknown): Partial<T> {
  if (typeof meta !== 'object' || meta === null) return {};
  const own = (meta as Record<string, unknown>)['openagents'];
  return typeof own === 'object' && own !== null ? (own) : {};
}
