/** Milliseconds that the bridge may take to answer. */
const SILENCE = 10_000;

const bytes = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
const hex = (buffer: ArrayBuffer | Uint8Array): string =>
  Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The program at this address claims not to know the token. It may not be the bridge. */
export class UnknownToken extends Error {}

/**
 * Makes the program at this address prove that it is the bridge of `token`, before it is sent that token: any program may
 * listen at the port of a bridge that crashed. The proof is an HMAC over a nonce and the bridge's own port, keyed with the
 * SHA-256 of the token; see `crates/remote/src/token.rs`.
 *
 * Resolves with the bridge's port. `port` is the one that it had before, if known: a proof for another port was relayed
 * by the program at this address, and is rejected. It differs from the page's behind a tunnel.
 */
export async function proven(token: string, port: number | null): Promise<number> {
  const { subtle } = crypto;
  const key = await subtle.importKey(
    'raw',
    await subtle.digest('SHA-256', bytes(token)),
    { name: 'HMAC', hash: 'SHA-256' },
    false,
    ['sign', 'verify'],
  );
  const nonce = hex(crypto.getRandomValues(new Uint8Array(32)));
  const id = hex(await subtle.sign('HMAC', key, bytes('openagents token')));
  const answer = await post('/proof', { token: id, nonce });
  const [own, proof] = [answer['port'], answer['proof']];
  if (own === undefined) throw new UnknownToken('OpenAgents does not know this token.');
  const signed =
    typeof proof === 'string' && /^[\da-f]{64}$/.test(proof)
      ? Uint8Array.from(proof.match(/../g) ?? [], (pair) => parseInt(pair, 16))
      : null;
  const known = typeof own === 'number' && (port === null || port === own);
  if (
    !known ||
    signed === null ||
    !(await subtle.verify('HMAC', key, signed, bytes(`openagents bridge ${nonce} ${own}`)))
  ) {
    throw new Error('Another program answers at this address.');
  }
  return own;
}

/** A tab's tokens: one to connect, which survives a restart, and one stored for a reload. */
export interface TabTokens {
  token: string;
  reload: string;
}

/** Exchanges a token of this computer's user, at a bridge that is `proven`, for those of a tab. */
export async function exchanged(held: string): Promise<TabTokens> {
  const { token, reload } = await post('/tab', {}, { Authorization: `Bearer ${held}` });
  if (typeof token !== 'string' || typeof reload !== 'string') throw new Error('OpenAgents sent no token.');
  return { token, reload };
}

async function post(
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(body),
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    signal: AbortSignal.timeout(SILENCE),
  });
  if (!response.ok) throw new Error(`OpenAgents answered with HTTP ${response.status}.`);
  const answer: unknown = await response.json();
  return typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
}
