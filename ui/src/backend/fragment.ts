/** What the part of an address after `#` says: a token from `openagents serve`, a pairing code, a session to show. */
export interface Fragment {
  token: string | null;
  /** The code of `openagents pair`, as its QR code holds it. */
  pair: string | null;
  session: string | null;
  /** SHA-256 of the certificate that this device is to trust, in capital hex digits: what no network can change. */
  fingerprint: string | null;
  /** Other addresses of the same computer: `https://mac.local:9443` */
  addresses: readonly string[];
}

/** More are no computer's. */
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
    fingerprint: HEX.test(fingerprint) ? fingerprint.toUpperCase() : null,
    addresses: (values.get('addresses') ?? '')
      .split(',')
      .filter((host) => HOST.test(host))
      .slice(0, MOST)
      .map((host) => `https://${host}`),
  };
}

/** The address bar holds neither token nor code, so they cannot be copied, synced or kept in the browser's history. */
export function sessionFragment(session: string | null): string {
  return session === null ? '' : `#session=${encodeURIComponent(session)}`;
}

/** The same address of another listener: the code, and what came with it. */
export function pairingFragment({ pair, fingerprint, addresses }: Pick<Fragment, 'pair' | 'fingerprint' | 'addresses'>): string {
  const hosts = addresses.map((address) => address.replace('https://', '')).join(',');
  return `#pair=${pair ?? ''}${fingerprint === null ? '' : `&fingerprint=${fingerprint}`}${hosts === '' ? '' : `&addresses=${hosts}`}`;
}
