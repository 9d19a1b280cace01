/** What the part of an address after `#` says: a token from `openagents serve`, a pairing code, a session to show. */
export interface Fragment {
  token: string | null;
  /** The code of `openagents pair`, as its QR code holds it. */
  pair: string | null;
  session: string | null;
}

export function parseFragment(hash: string): Fragment {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  return { token: values.get('token') || null, pair: values.get('pair') || null, session: values.get('session') || null };
}

/** The address bar holds neither token nor code, so they cannot be copied, synced or kept in the browser's history. */
export function sessionFragment(session: string | null): string {
  return session === null ? '' : `#session=${encodeURIComponent(session)}`;
}
