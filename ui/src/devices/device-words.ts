import { SCOPES } from '../connection/protocol';
import type { Device, DeviceRequest, NetworkState, Scope } from '../connection/wire';
import { ago } from '../words/amounts';

/** `Connected`, `Seen 3h ago`, `Never seen` */
export function seenWords(device: Pick<Device, 'connections' | 'lastSeen'>, now: number): string {
  if (device.connections > 0) return device.connections === 1 ? 'Connected' : `${device.connections} connections`;
  if (device.lastSeen === null) return 'Never seen';
  return `Seen ${ago(device.lastSeen, now)}`;
}

/** `4 minutes left`, `less than a minute left`, `expired` */
export function leftWords(until: number, now: number): string {
  const seconds = Math.ceil((until - now) / 1000);
  if (seconds <= 0) return 'expired';
  if (seconds < 60) return 'less than a minute left';
  const minutes = Math.round(seconds / 60);
  return minutes === 1 ? '1 minute left' : `${minutes} minutes left`;
}

/** An access request in one sentence. */
export function accessRequestWords(request: DeviceRequest): string {
  return request.kind === 'ios'
    ? `The OpenAgents app at ${request.address} wants to connect.`
    : `A device at ${request.address} wants to pair.`;
}

const ACTIONS: Readonly<Record<string, string>> = {
  'pair.offered': 'Showed a pairing code',
  'pair.stopped': 'Stopped pairing',
  'pair.asked': 'Asked to pair',
  'pair.allowed': 'Allowed a device',
  'pair.declined': 'Declined a device',
  'device.renamed': 'Renamed a device',
  'device.scope': "Changed a device's access",
  'device.removed': 'Removed a device',
  'device.left': 'Unpaired itself',
  'app.allowed': 'Allowed the iOS app',
  'app.declined': 'Declined the iOS app',
  'app.removed': 'Disconnected the iOS app',
  'network.switched': 'Changed the network settings',
  'access.refused': 'Was refused access',
  'approval.answered': 'Answered an approval',
  'session/new': 'Started a session',
  'session/prompt': 'Sent a prompt',
  'session/cancel': 'Stopped a turn',
  'session/close': 'Closed a session',
  'session/delete': 'Deleted a session',
  'session/set_mode': 'Switched agents',
  '_openagents/explore': 'Started an exploration',
  '_openagents/delegate': 'Delegated work',
  '_openagents/queue/remove': 'Removed a queued prompt',
  '_openagents/approvals/answer': 'Answered an approval',
  '_openagents/approvals/resume': 'Resumed an agent',
};

/** An audit log action for display; unknown actions are shown as they are. */
export function actionWords(action: string): string {
  return ACTIONS[action] ?? action;
}

const ENDPOINTS = {
  loopback: { what: 'This computer', scheme: 'http' },
  web: { what: 'Local network', scheme: 'https' },
  app: { what: 'iOS app', scheme: 'ws' },
};

/** The URLs of the open network endpoints. */
export function endpoints(network: NetworkState): { what: string; address: string }[] {
  return network.listeners.map(({ kind, address }) => ({
    what: ENDPOINTS[kind].what,
    address: `${ENDPOINTS[kind].scheme}://${address}`,
  }));
}

/** `31 March 2027`, in the user's locale. */
export function day(time: number): string {
  return new Date(time).toLocaleDateString(undefined, { day: 'numeric', month: 'long', year: 'numeric' });
}

/** Splits a fingerprint, with or without colons, into groups that are easy to compare. */
export function fingerprintGroups(fingerprint: string): string[] {
  const pairs = fingerprint.match(/[^:]{1,2}/g) ?? [];
  return Array.from({ length: Math.ceil(pairs.length / 4) }, (_, at) => pairs.slice(at * 4, at * 4 + 4).join(':'));
}

export const SCOPE_WORDS: Readonly<Record<Scope, { name: string; does: string }>> = {
  view: { name: 'View', does: 'Sees every session. Changes nothing.' },
  prompt: {
    name: 'Prompt',
    does: 'Also starts, prompts and stops sessions. A prompt can make an agent do anything it does without asking.',
  },
  approve: { name: 'Approve', does: 'Also answers approvals, so agents run the commands it allows.' },
  admin: {
    name: 'Admin',
    does: 'Also deletes sessions, changes settings, models and agents, and allows other devices.',
  },
};

/** Whether a scope includes another one. */
export function holds(scope: Scope, needed: Scope): boolean {
  return SCOPES.indexOf(scope) >= SCOPES.indexOf(needed);
}

/** Shown to a device that lacks a scope: `This device can view. Change its access on Mac.` */
export function limitWords(scope: Scope, computer: string | null): string {
  const may = { view: 'view', prompt: 'view and prompt', approve: 'view, prompt and approve', admin: 'do everything' }[
    scope
  ];
  return `This device can ${may}. Change its access on ${computer ?? 'the computer'}.`;
}
