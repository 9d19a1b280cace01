/** Pairing uses plain HTTP requests to this page's origin: a page without a token has no connection. */

/** The response to a code. Times are milliseconds since the epoch, by the bridge's clock. */
export interface Claim {
  /** The secret with which this device polls for the outcome. */
  request: string;
  /** Shown on both screens: `482 913` */
  compare: string;
  computer: string;
  expiresAt: number;
}

export type Outcome =
  | { state: 'waiting' }
  | { state: 'allowed'; token: string; device: { id: string; name: string }; scope: string }
  | { state: 'declined' | 'expired'; message?: string };

export class Refusal extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
  }
}

/** Milliseconds: longer than the bridge holds a poll. */
const MOST = 40_000;

export function claim(code: string, name: string, signal: AbortSignal): Promise<Claim> {
  return post<Claim>('pair', { code, name }, signal);
}

/** Resolves with the outcome, or with `waiting` after a while. */
export function outcome(request: string, signal: AbortSignal): Promise<Outcome> {
  return post<Outcome>('pair/wait', { request }, signal);
}

async function post<Answer>(path: string, body: object, signal: AbortSignal): Promise<Answer> {
  // Aborts with either signal; `AbortSignal.any` is newer than the oldest supported Safari.
  const ends = new AbortController();
  const end = (): void => ends.abort();
  const timer = setTimeout(end, MOST);
  signal.addEventListener('abort', end);
  try {
    const response = await fetch(new URL(`/${path}`, location.origin), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      cache: 'no-store',
      signal: ends.signal,
    });
    // A truncated response counts as lost.
    if (response.ok) return (await response.json()) as Answer;
    const answer: unknown = await response.json().catch(() => null);
    const {
      code = '',
      message = '',
      retryAfterMs = 0,
    } = (answer ?? {}) as { code?: string; message?: string; retryAfterMs?: number };
    throw new Refusal(code || `http_${response.status}`, message, retryAfterMs);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
