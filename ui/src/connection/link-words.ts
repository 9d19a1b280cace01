import type { LinkState, Refusal } from './link.svelte';
import type { TransportName } from './transport';

/** What a person is told about the link. */
export type Shown =
  | LinkState
  /** How many updates are still to come, where that is known. */
  | { name: 'catching-up'; left?: number };

export function linkWords(shown: Shown): string {
  switch (shown.name) {
    case 'live':
      return 'Live';
    case 'connecting':
      return 'Connecting…';
    case 'catching-up':
      return shown.left ? `Catching up ${grouped(shown.left)}` : 'Catching up';
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

/** What a live link runs over. */
export function linkDetail(transport: TransportName): string {
  return transport === 'websocket' ? 'Over a WebSocket' : 'Over HTTP events: this browser opens no WebSocket to this address';
}

/** The full-page words for a link that no retry can mend. */
export function refusal(state: LinkState & { name: 'refused' | 'removed' }): string {
  if (state.name === 'removed') return `This device was removed on ${state.computer}.`;
  return REFUSALS[state.why];
}

const CURE = 'Run `openagents serve` and open the address that it prints.';
const REFUSALS: Record<Refusal, string> = {
  'no-token': `This page has no token. ${CURE}`,
  'bad-token': `This page's token is not valid any more. ${CURE}`,
  unpaired: 'This phone is not paired any more.',
};

/** `14:02` */
export function clock(time: Date): string {
  return `${String(time.getHours()).padStart(2, '0')}:${String(time.getMinutes()).padStart(2, '0')}`;
}

/** `1,240` */
function grouped(count: number): string {
  return count.toLocaleString('en');
}
