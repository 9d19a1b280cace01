import { pause } from '../connection/backoff';
import type { Offer } from '../backend/browser';
import { pairingFragment } from '../backend/fragment';
import { asSentence } from '../connection/sentence';
import { codeTyped } from './code';
import { claim, outcome, Refusal, type Claim } from './pairing-wire';
import { DECLINED, EXPIRED, LOST, refusedWords } from './pairing-words';

const KEY = 'openagents.pairing';
/** A request that has not failed by then has reached somebody, in milliseconds. */
const AT_ONCE = 1_500;

/** How this device becomes a paired one: a code is typed, both screens are compared, somebody allows it. */
export class Pairing {
  /** As far as it is typed. */
  code = $state('');
  /** The address that was opened held a code. */
  given = $state(false);
  /** The certificate that this device is to trust, as the QR code has it. */
  fingerprint = $state<string | null>(null);
  /** Where else the same page is, for a device that does not reach this one. */
  elsewhere = $state.raw<readonly { address: string; url: string }[]>([]);
  /** What is compared and waited for; null while the form is filled in. */
  claimed = $state.raw<Claim | null>(null);
  sending = $state(false);
  problem = $state<string | null>(null);
  /** The bridge cannot be reached at the moment. */
  away = $state(false);
  /** No try is taken before, on this page's clock. */
  notBefore = $state(0);

  readonly #onAllowed: (token: string) => void;
  #waiting: AbortController | null = null;
  /** Gives up the question that is on its way, or the pause before the next one. */
  #again: (() => void) | null = null;

  constructor(onAllowed: (token: string) => void) {
    this.#onAllowed = onAllowed;
  }

  /** Begins with the code of an address, or goes on with what this tab waited for when it was loaded again. */
  begin({ code, fingerprint, addresses }: Offer): void {
    if (code !== null) {
      this.code = codeTyped(code);
      this.given = true;
      this.fingerprint = fingerprint;
      const all = [...new Set([location.origin, ...addresses])].filter((address) => address.startsWith('https:'));
      this.elsewhere = addresses
        .filter((address) => address !== location.origin)
        .map((address) => ({ address, url: `${address}/${pairingFragment({ pair: code, fingerprint, addresses: all.filter((other) => other !== address) })}` }));
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

  /** Back to the form. The claim runs out by itself. */
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
    // What a phone asked before it slept may have been answered into nothing: whatever came of it is said again.
    addEventListener('pageshow', () => this.#again?.(), { signal });
    document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && this.#again?.(), { signal });
    void this.#hear(claimed, signal);
  }

  /** Asks again and again, through lost networks as well, until there is an answer. */
  async #hear({ request }: Claim, signal: AbortSignal): Promise<void> {
    for (let lost = 0; !signal.aborted; ) {
      const question = new AbortController();
      signal.addEventListener('abort', () => question.abort(), { once: true });
      this.#again = () => question.abort();
      // The answer takes its time where the network is well; where it is not, that shows at once.
      const well = setTimeout(() => (this.away = false), AT_ONCE);
      try {
        const answer = await outcome(request, question.signal).finally(() => clearTimeout(well));
        if (signal.aborted) return;
        [lost, this.away] = [0, false];
        if (answer.state === 'allowed') {
          this.cancel();
          [this.code, this.given] = ['', false];
          return this.#onAllowed(answer.token);
        }
        if (answer.state !== 'waiting') return this.cancel(answer.state === 'declined' ? DECLINED : asSentence(answer.message ?? EXPIRED));
      } catch (error) {
        if (signal.aborted) return;
        if (question.signal.aborted) continue;
        // A bridge that knows nothing of it any more was started anew.
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
    return JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Claim | null;
  } catch {
    // Storage can be switched off.
    return null;
  }
}

function store(claimed: Claim | null): void {
  try {
    if (claimed === null) sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, JSON.stringify(claimed));
  } catch {
    // A reload then begins anew.
  }
}
