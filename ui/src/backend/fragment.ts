/** The URL fragment: a token from `openagents serve`, a pairing code, a session to show. */
export interface Fragment {
  token: string | null;
  /** The code of `openagents pair`, as in its QR code. */
  pair: string | null;
  session: string | null;
  /** A session of another agent to show, around a line of its log if one is named. */
  transcript: { provider: string; id: string; line: number | null } | null;
  /** SHA-256 of the certificate to trust, in upper-case hex. It comes by camera, so the network cannot change it. */
  fingerprint: string | null;
  /** Other addresses of the same computer: `https://mac.local:9443` */
  addresses: readonly string[];
}

/** More than any computer has. */
const MOST = 16;
/** `mac.local:9443`, `192.168.1.5:9443`, `[fe80::1]:9443` */
const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d{1,5})?$/i;
const HEX = /^(?:[\dA-F]{2})+$/i;

export function parseFragment(hash: string): Fragment {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  const fingerprint = values.get('fingerprint') ?? '';
  return {
    token: values.get('token') || null,
    pair: values.get('pair') || null,
    session: values.get('session') || null,
    transcript: transcriptOf(values),
    fingerprint: HEX.test(fingerprint) ? fingerprint.toUpperCase() : null,
    addresses: (values.get('addresses') ?? '')
      .split(',')
      .filter((host) => HOST.test(host))
      .slice(0, MOST)
      .map((host) => `https://${host}`),
  };
}

function transcriptOf(values: URLSearchParams): Fragment['transcript'] {
  const [provider, id] = /^([\w-]+):(.+)$/.exec(values.get('transcript') ?? '')?.slice(1) ?? [];
  const line = Number(values.get('line'));
  return provider === undefined || id === undefined
    ? null
    : { provider, id, line: Number.isInteger(line) && line > 0 ? line : null };
}

/** The fragment that shows a session of another agent. */
export function transcriptFragment(provider: string, id: string, line: number | null = null): string {
  return `#transcript=${provider}:${encodeURIComponent(id)}${line === null ? '' : `&line=${line}`}`;
}

/** The address bar holds neither token nor code, so neither is copied, synced or kept in the browser history. */
export function sessionFragment(session: string | null): string {
  return session === null ? '' : `#session=${encodeURIComponent(session)}`;
}

/** The fragment for another address of the same computer. */
export function pairingFragment({
  pair,
  fingerprint,
  addresses,
}: Pick<Fragment, 'pair' | 'fingerprint' | 'addresses'>): string {
  const hosts = addresses.map((address) => address.replace('https://', '')).join(',');
  return `#pair=${pair ?? ''}${fingerprint === null ? '' : `&fingerprint=${fingerprint}`}${hosts === '' ? '' : `&addresses=${hosts}`}`;
}
