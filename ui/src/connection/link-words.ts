/** What a person is told about the link. */
export type Shown =
  | { name: 'live' }
  | { name: 'connecting' }
  | { name: 'catching-up' }
  | { name: 'offline'; since: Date }
  | { name: 'refused'; why: 'no-token' | 'bad-token' };

export function linkWords(shown: Shown): string {
  switch (shown.name) {
    case 'live':
      return 'Live';
    case 'connecting':
      return 'Connecting…';
    case 'catching-up':
      return 'Catching up';
    case 'offline':
      return `Offline since ${clock(shown.since)}`;
    case 'refused':
      return 'Not allowed';
  }
}

export function linkTone(shown: Shown): 'live' | 'busy' | 'off' {
  if (shown.name === 'live') return 'live';
  return shown.name === 'offline' || shown.name === 'refused' ? 'off' : 'busy';
}

/** The full-page words for a link that no retry can mend. */
export function refusal(why: 'no-token' | 'bad-token'): string {
  const cure = 'Run `openagents serve` and open the address that it prints.';
  return why === 'bad-token' ? `This page's token is not valid any more. ${cure}` : `This page has no token. ${cure}`;
}

function clock(time: Date): string {
  return `${String(time.getHours()).padStart(2, '0')}:${String(time.getMinutes()).padStart(2, '0')}`;
}
