/** What the part of an address after `#` says: a token from `openagents serve`, a session to show, or both. */
export interface Fragment {
  token: string | null;
  session: string | null;
}

export function parseFragment(hash: string): Fragment {
  const values = new URLSearchParams(hash.replace(/^#/, ''));
  return { token: values.get('token') || null, session: values.get('session') || null };
}

/** The address bar never holds the token, so it cannot be copied, synced or kept in the browser's history. */
export function sessionFragment(session: string | null): string {
  return session === null ? '' : `#session=${encodeURIComponent(session)}`;
}
