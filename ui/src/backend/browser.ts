import type { Address, Backend } from './backend';
import { type Fragment, parseFragment, sessionFragment } from './fragment';
import { browserStorage, tabStorage } from './storage';

const TAB = 'openagents.token';
const DEVICE = 'openagents.device';
/** Stored with either of them. */
const SCOPE = 'openagents.scope';

export interface Offer extends Pick<Fragment, 'fingerprint' | 'addresses'> {
  code: string | null;
}

/**
 * A page in a browser. A token from the fragment is kept until the tab closes, the token of a paired device until the
 * device is unpaired.
 */
export class BrowserBackend implements Backend {
  readonly kind = 'browser';
  /** The pairing data of the URL that was opened. */
  offer: Offer = { code: null, fingerprint: null, addresses: [] };
  #token: string | null = null;

  constructor() {
    this.takeToken();
  }

  /** The token belongs to a paired device. */
  get paired(): boolean {
    return this.#token === null && browserStorage.read(DEVICE) !== null;
  }

  get #scopes(): typeof tabStorage {
    return this.#token === null ? browserStorage : tabStorage;
  }

  get scope(): string | null {
    return this.#scopes.read(SCOPE);
  }

  set scope(scope: string | null) {
    this.#scopes.write(SCOPE, scope);
  }

  /** Returns true if the URL carried a token. Tokens and codes are removed from the address bar. */
  takeToken(): boolean {
    const { token, pair, session: shown, fingerprint, addresses } = parseFragment(location.hash);
    if (pair !== null) this.offer = { code: pair, fingerprint, addresses };
    if (token !== null) {
      this.#token = token;
      tabStorage.write(TAB, token);
      this.scope = null;
    } else {
      this.#token ??= tabStorage.read(TAB);
    }
    if (token !== null || pair !== null) history.replaceState(history.state, '', `${location.pathname}${location.search}${sessionFragment(shown)}`);
    return token !== null;
  }

  /** Stores the token that this device got by pairing. */
  pairedWith(token: string): void {
    this.#token = null;
    tabStorage.write(TAB, null);
    this.scope = null;
    browserStorage.write(DEVICE, token);
    // Without storage the device stays paired until the page is reloaded.
    if (browserStorage.read(DEVICE) !== token) this.#token = token;
  }

  unpaired(): void {
    browserStorage.write(DEVICE, null);
    browserStorage.write(SCOPE, null);
  }

  openEditor(link: string): Promise<void> {
    // A link keeps the page open; the browser asks before it starts another program.
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
      token: this.#token ?? browserStorage.read(DEVICE),
    });
  }
}
