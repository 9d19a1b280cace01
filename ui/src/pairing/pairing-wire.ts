/** Pairing goes over plain HTTP requests to where this page came from: a page without a token has no link. */

/** The answer to a code. Times are milliseconds since the epoch, by the bridge's clock. */
export interface Claim {
  /** The secret by which this device asks what became of it. */
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

/** Why the bridge does not take a code. */
export class Refusal extends Error {
  readonly code: string;
  readonly retryAfterMs: number;

  constructor(code: string, message: string, retryAfterMs: number) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Longer than the bridge lets a page wait, in milliseconds. */
const MOST = 40_000;

export function claim(code: string, name: string, signal: AbortSignal): Promise<Claim> {
  return post<Claim>('pair', { code, name }, signal);
}

/** Resolves when there is news, or after a while without. */
export function outcome(request: string, signal: AbortSignal): Promise<Outcome> {
  return post<Outcome>('pair/wait', { request }, signal);
}

async function post<Answer>(path: string, body: object, signal: AbortSignal): Promise<Answer> {
  // One that ends with either; `AbortSignal.any` is younger than the oldest Safari that the page is built for.
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
    // An answer that breaks off has not arrived, as one that never began.
    if (response.ok) return (await response.json()) as Answer;
    const answer: unknown = await response.json().catch(() => null);
    const { code = '', message = '', retryAfterMs = 0 } = (answer ?? {}) as { code?: string; message?: string; retryAfterMs?: number };
    throw new Refusal(code || `http_${response.status}`, message, retryAfterMs);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }
}
