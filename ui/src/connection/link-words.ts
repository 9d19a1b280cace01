import type { LinkState, Refusal } from './link.svelte';
import type { TransportName } from './transport';

/** The connection state as shown on screen. */
export type Shown =
  | LinkState
  /** The number of updates still to come, if known. */
  | { name: 'catching-up'; left?: number };

export function linkWords(shown: Shown): string {
  switch (shown.name) {
    case 'live':
      return 'Live';
    case 'connecting':
      return 'Connecting…';
    case 'catching-up':
      return 'Catching up…';
    case 'offline':
      return `Offline since ${clock(shown.since)}`;
    case 'refused':
      return 'Not allowed';
    case 'removed':
      return `Removed on ${shown.computer}`;
  }
}

export function linkTone(shown: Shown): 'live' | 'busy' | 'off' {
  if (shown.name === 'live') return 'live';
  return shown.name === 'connecting' || shown.name === 'catching-up' ? 'busy' : 'off';
}

export function linkDetail(transport: TransportName): string {
  return transport === 'websocket' ? 'Connected' : 'Connected in compatibility mode';
}

/** The full-page message for a connection that retrying cannot fix. */
export function refusal(state: LinkState & { name: 'refused' | 'removed' }): string {
  if (state.name === 'removed') return `This device was removed on ${state.computer}.`;
  return REFUSALS[state.why];
}

const REFUSALS: Record<Refusal, string> = {
  'no-token': 'This page has no token. Run `openagents serve` and open the address it prints.',
  'bad-token': 'OpenAgents was restarted. Open the address that `openagents serve` printed.',
  unpaired: 'This device is no longer paired.',
};

/** `14:02` */
export function clock(time: Date): string {
  return `${String(time.getHours()).padStart(2, '0')}:${String(time.getMinutes()).padStart(2, '0')}`;
}
