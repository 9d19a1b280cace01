/** What the page adds to the types of the wire. */
import type { Access, Scope, UpdateParams } from './wire';

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
  keep: '_openagents/keep',
  keepStatus: '_openagents/keep/status',
  live: '_openagents/live',
  liveChanged: '_openagents/live/changed',
  usageReport: '_openagents/usage/report',
  export: '_openagents/export',
} as const;

/** Each scope includes the ones before it. */
export const SCOPES = ['view', 'prompt', 'approve', 'admin'] as const satisfies readonly Scope[];

/** What this page may do, and where. */
export interface ClientAccess extends Access {
  /** Identifies this page's own prompts in the log. */
  connection: string | null;
  /** Name of the machine that runs the bridge. */
  computer: string | null;
  /** The bridge has confirmed the scope, now or earlier with this token. */
  known: boolean;
}

/** An update in the order of its session. */
export interface Update {
  params: UpdateParams;
  seq: number;
  /** Milliseconds since the epoch, by the bridge's clock. */
  ts: number;
  /** Size of the whole frame. */
  bytes: number;
}

/** The result of the tool `delegate.run`. */
export interface DelegateReport {
  ok: boolean;
  provider: string;
  /** The agent was started. */
  dispatched: boolean;
  notes: string;
}

/** Reads our part of a `_meta` object and ignores the rest. */
export function openagents<T>(meta: unknown): Partial<T> {
  if (typeof meta !== 'object' || meta === null) return {};
  const own = (meta as Record<string, unknown>)['openagents'];
  return typeof own === 'object' && own !== null ? own : {};
}
