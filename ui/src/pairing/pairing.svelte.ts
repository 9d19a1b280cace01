import { pause } from '../connection/link.svelte';
import type { Offer } from '../backend/browser';
import { pairingFragment } from '../backend/fragment';
import { tabStorage } from '../backend/storage';
import { asSentence } from '../connection/errors.svelte';
import { codeTyped, DECLINED, EXPIRED, LOST, refusedWords } from './pairing-words';
import { claim, outcome, Refusal, type Claim } from './pairing-wire';

const KEY = 'openagents.pairing';
/** Milliseconds after which a poll that has not failed has reached the bridge. */
const AT_ONCE = 1_500;

/** Pairs this device: enter a code, compare both screens, wait until it is allowed. */
export class Pairing {
  code = $state('');
  scanned = $state(false);
  /** The certificate to trust, from the QR code. */
  fingerprint = $state<string | null>(null);
  /** Other URLs of the same page, in case this one is not reachable. */
  elsewhere = $state.raw<readonly { address: string; url: string }[]>([]);
  /** The pending claim; null while the form is shown. */
  claimed = $state.raw<Claim | null>(null);
  sending = $state(false);
  problem = $state<string | null>(null);
  away = $state(false);
  /** The earliest time of the next attempt, by this page's clock. */
  notBefore = $state(0);

  readonly #onAllowed: (token: string) => void;
  #waiting: AbortController | null = null;
  /** Aborts the pending poll or the pause before the next one. */
  #again: (() => void) | null = null;

  constructor(onAllowed: (token: string) => void) {
    this.#onAllowed = onAllowed;
  }

  /** Starts with the code of a URL, or resumes the claim of this tab after a reload. */
  begin({ code, fingerprint, addresses }: Offer): void {
    if (code !== null) {
      this.code = codeTyped(code);
      this.scanned = true;
      this.fingerprint = fingerprint;
      const all = [...new Set([location.origin, ...addresses])].filter((address) => address.startsWith('https:'));
      this.elsewhere = addresses
        .filter((address) => address !== location.origin)
        .map((address) => ({
          address,
          url: `${address}/${pairingFragment({ pair: code, fingerprint, addresses: all.filter((other) => other !== address) })}`,
        }));
    }
    const kept = stored();
    if (kept !== null && this.claimed === null) this.#wait(kept);
  }

  async send(name: string): Promise<void> {
    if (this.sending) return;
    this.sending = true;
    this.problem = null;
    this.away = false;
    try {
      const claimed = await claim(codeTyped(this.code), name, new AbortController().signal);
      store(claimed);
      this.#wait(claimed);
    } catch (error) {
      this.problem = refusedWords(error);
      this.away = !(error instanceof Refusal);
      if (error instanceof Refusal && error.code === 'slow_down') this.notBefore = Date.now() + error.retryAfterMs;
    }
    this.sending = false;
  }

  /** Returns to the form. The claim expires by itself. */
  cancel(problem: string | null = null): void {
    this.#waiting?.abort();
    this.#waiting = null;
    store(null);
    this.claimed = null;
    this.away = false;
    this.problem = problem;
  }

  #wait(claimed: Claim): void {
    this.#waiting?.abort();
    const waiting = new AbortController();
    this.#waiting = waiting;
    this.claimed = claimed;
    this.problem = null;
    const { signal } = waiting;
    addEventListener('offline', () => (this.away = true), { signal });
    addEventListener('online', () => this.#again?.(), { signal });
    // The answer to a poll may be lost while a phone sleeps; the bridge repeats it.
    addEventListener('pageshow', () => this.#again?.(), { signal });
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && this.#again?.(), {
      signal,
    });
    void this.#hear(claimed, signal);
  }

  /** Polls until there is an outcome, also across network failures. */
  async #hear({ request }: Claim, signal: AbortSignal): Promise<void> {
    for (let lost = 0; !signal.aborted;) {
      const question = new AbortController();
      signal.addEventListener('abort', () => question.abort(), { once: true });
      this.#again = () => question.abort();
      // A working network holds the poll open; a broken one fails at once.
      const well = setTimeout(() => (this.away = false), AT_ONCE);
      try {
        const answer = await outcome(request, question.signal).finally(() => clearTimeout(well));
        if (signal.aborted) return;
        [lost, this.away] = [0, false];
        if (answer.state === 'allowed') {
          this.cancel();
          [this.code, this.scanned] = ['', false];
          return this.#onAllowed(answer.token);
        }
        if (answer.state !== 'waiting')
          return this.cancel(answer.state === 'declined' ? DECLINED : asSentence(answer.message ?? EXPIRED));
      } catch (error) {
        if (signal.aborted) return;
        if (question.signal.aborted) continue;
        // A restarted bridge no longer knows the claim.
        const final = error instanceof Refusal && error.code !== 'slow_down' && !error.code.startsWith('http_5');
        if (final) return this.cancel(error.code === 'expired' ? EXPIRED : LOST);
        this.away = !(error instanceof Refusal);
        const rest = error instanceof Refusal ? Math.max(1000, error.retryAfterMs) : pause(lost++);
        await new Promise<void>((after) => {
          const timer = setTimeout(after, rest);
          this.#again = () => {
            clearTimeout(timer);
            after();
          };
        });
      }
    }
  }
}

function stored(): Claim | null {
  try {
    return JSON.parse(tabStorage.read(KEY) ?? 'null') as Claim | null;
  } catch {
    return null;
  }
}

function store(claimed: Claim | null): void {
  tabStorage.write(KEY, claimed === null ? null : JSON.stringify(claimed));
}
