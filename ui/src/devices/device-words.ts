import type { Device, DeviceRequest, NetworkState } from '../connection/devices-wire';
import { age } from '../session/groups';

/** `Connected`, `Seen 3h ago`, `Never seen` */
export function seenWords(device: Pick<Device, 'connections' | 'lastSeen'>, now: number): string {
  if (device.connections > 0) return device.connections === 1 ? 'Connected' : `Connected ${device.connections} times`;
  if (device.lastSeen === null) return 'Never seen';
  const since = age(device.lastSeen, now);
  return since === 'now' ? 'Seen just now' : `Seen ${since} ago`;
}

/** `4 minutes left`, `less than a minute left`, `expired` */
export function leftWords(until: number, now: number): string {
  const seconds = Math.ceil((until - now) / 1000);
  if (seconds <= 0) return 'expired';
  if (seconds < 60) return 'less than a minute left';
  const minutes = Math.round(seconds / 60);
  return minutes === 1 ? '1 minute left' : `${minutes} minutes left`;
}

/** What somebody who knocks is asked about in one sentence. */
export function knockWords(request: DeviceRequest): string {
  return request.kind === 'ios' ? `The OpenAgents app at ${request.address} wants to connect.` : `A device at ${request.address} wants to pair.`;
}

const ACTIONS: Readonly<Record<string, string>> = {
  'pair.offered': 'Showed a pairing code',
  'pair.stopped': 'Stopped pairing',
  'pair.asked': 'Asked to be paired',
  'pair.allowed': 'Let a device in',
  'pair.declined': 'Declined a device',
  'device.renamed': 'Renamed a device',
  'device.scope': 'Changed what a device may do',
  'device.removed': 'Removed a device',
  'device.left': 'Unpaired itself',
  'app.allowed': 'Let the iOS app in',
  'app.declined': 'Declined the iOS app',
  'app.removed': 'Cut off the iOS app',
  'network.switched': 'Switched the network',
  'access.refused': 'Was refused',
  'approval.answered': 'Answered an approval',
  'session/new': 'Began a session',
  'session/prompt': 'Sent a prompt',
  'session/cancel': 'Stopped a turn',
  'session/close': 'Closed a session',
  'session/delete': 'Deleted a session',
  'session/set_mode': 'Chose who answers',
  '_openagents/explore': 'Began an exploration',
  '_openagents/delegate': 'Delegated work',
  '_openagents/queue/remove': 'Took a prompt out of the queue',
  '_openagents/approvals/answer': 'Answered an approval',
  '_openagents/approvals/resume': 'Let an agent go on',
};

/** What was done from afar, for people; what has no words here is shown as it is written down. */
export function actionWords(action: string): string {
  return ACTIONS[action] ?? action;
}

/** Where the open doors are, as they are typed. */
export function doors(network: NetworkState): { what: string; address: string }[] {
  return network.listeners.map(({ kind, address }) => {
    switch (kind) {
      case 'loopback':
        return { what: 'This computer', address: `http://${address}` };
      case 'web':
        return { what: 'Local network', address: `https://${address}` };
      case 'app':
        return { what: 'iOS app', address: `ws://${address}` };
    }
  });
}

/** `31 March 2027`, in the person's own words. */
export function day(time: number): string {
  return new Date(time).toLocaleDateString(undefined, { day: 'numeric', month: 'long', year: 'numeric' });
}

/** Pairs of a fingerprint, with or without colons, in groups that an eye can compare. */
export function fingerprintGroups(fingerprint: string): string[] {
  const pairs = fingerprint.match(/[^:]{1,2}/g) ?? [];
  return Array.from({ length: Math.ceil(pairs.length / 4) }, (_, at) => pairs.slice(at * 4, at * 4 + 4).join(':'));
}
