import type { Address, Backend } from './backend';
import { type Fragment, parseFragment, sessionFragment } from './fragment';

const TAB = 'openagents.token';
const DEVICE = 'openagents.device';
/** Beside either of them. */
const SCOPE = 'openagents.scope';
/** Where storage is switched off, to name it is an error already. */
const local = (): Storage => localStorage;
const session = (): Storage => sessionStorage;

/** What a QR code says to a device that is to be paired. */
export interface Offer extends Pick<Fragment, 'fingerprint' | 'addresses'> {
  code: string | null;
}

/**
 * A page in a browser. A token that came in the fragment is kept for as long as the tab lives; the token of a paired
 * device for as long as the device is paired.
 */
export class BrowserBackend implements Backend {
  readonly kind = 'browser';
  /** What the address that was opened here held for pairing. */
  offer: Offer = { code: null, fingerprint: null, addresses: [] };
  #token: string | null = null;

  constructor() {
    this.takeToken();
  }

  /** The token is that of a paired device. */
  get paired(): boolean {
    return this.#token === null && read(local, DEVICE) !== null;
  }

  get scope(): string | null {
    return read(this.#token === null ? local : session, SCOPE);
  }

  set scope(scope: string | null) {
    write(this.#token === null ? local : session, SCOPE, scope);
  }

  /** Returns true when the address carried a token. It is gone from the address bar then, as a code is. */
  takeToken(): boolean {
    const { token, pair, session: shown, fingerprint, addresses } = parseFragment(location.hash);
    if (pair !== null) this.offer = { code: pair, fingerprint, addresses };
    if (token !== null) {
      this.#token = token;
      write(session, TAB, token);
      this.scope = null;
    } else {
      this.#token ??= read(session, TAB);
    }
    if (token !== null || pair !== null) history.replaceState(history.state, '', `${location.pathname}${location.search}${sessionFragment(shown)}`);
    return token !== null;
  }

  /** This device was paired: its token opens the door from now on. */
  pairedWith(token: string): void {
    this.#token = null;
    write(session, TAB, null);
    this.scope = null;
    write(local, DEVICE, token);
    // Where nothing can be kept, the device is paired for this visit.
    if (read(local, DEVICE) !== token) this.#token = token;
  }

  /** This device is paired no more. */
  unpaired(): void {
    write(local, DEVICE, null);
    write(local, SCOPE, null);
  }

  openEditor(link: string): Promise<void> {
    // A link leaves the page where it is; the browser asks before it starts another program.
    const anchor = document.createElement('a');
    anchor.href = link;
    anchor.click();
    return Promise.resolve();
  }

  address(): Promise<Address> {
    const secure = location.protocol === 'https:';
    return Promise.resolve({
      socket: `${secure ? 'wss' : 'ws'}://${location.host}/acp`,
      events: `${location.origin}/acp`,
      port: Number(location.port) || (secure ? 443 : 80),
      token: this.#token ?? read(local, DEVICE),
    });
  }
}

function read(storage: () => Storage, key: string): string | null {
  try {
    return storage().getItem(key);
  } catch {
    // Storage can be switched off.
    return null;
  }
}

function write(storage: () => Storage, key: string, value: string | null): void {
  try {
    if (value === null) storage().removeItem(key);
    else storage().setItem(key, value);
  } catch {
    // Kept for this visit only.
  }
}
