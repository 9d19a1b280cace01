import type { Address, Backend } from './backend';
import { type Fragment, parseFragment, sessionFragment } from './fragment';
import { proven, tabToken } from './proof';
import { browserStorage, tabStorage } from './storage';

/** The token of the bridge's start, until it is exchanged. */
const START = 'openagents.token';
const TAB = 'openagents.tab';
const DEVICE = 'openagents.device';
/** Stored with a token: the port of its bridge, and the scope. */
const PORT = 'openagents.port';
const SCOPE = 'openagents.scope';

export interface Offer extends Pick<Fragment, 'fingerprint' | 'addresses'> {
  code: string | null;
}

/**
 * A page in a browser. The token from the fragment is exchanged for one of this tab, which is kept until the tab closes;
 * that of a paired device is kept until the device is unpaired.
 *
 * Without TLS, no token is given to a program that has not proved that it is the bridge. Nothing protects the storage of
 * a page that is reloaded while another program answers at its address: it is that program's page then.
 */
export class BrowserBackend implements Backend {
  readonly kind = 'browser';
  /** The pairing data of the URL that was opened. */
  offer: Offer = { code: null, fingerprint: null, addresses: [] };
  #start: string | null = null;
  #tab: string | null = null;
  /** Of a device without storage. */
  #device: string | null = null;
  #port: string | null = null;

  constructor() {
    this.takeToken();
  }

  /** The token belongs to a paired device. */
  get paired(): boolean {
    return !this.#own && this.#deviceToken !== null;
  }

  /** The token belongs to this tab. */
  get #own(): boolean {
    return this.#start !== null || this.#tab !== null;
  }

  get #deviceToken(): string | null {
    return this.#device ?? browserStorage.read(DEVICE);
  }

  get #stored(): typeof tabStorage {
    return this.#own ? tabStorage : browserStorage;
  }

  get scope(): string | null {
    return this.#stored.read(SCOPE);
  }

  set scope(scope: string | null) {
    this.#stored.write(SCOPE, scope);
  }

  /** Returns true if the URL carried a token. Tokens and codes are removed from the address bar. */
  takeToken(): boolean {
    const { token, pair, session: shown, fingerprint, addresses } = parseFragment(location.hash);
    if (pair !== null) this.offer = { code: pair, fingerprint, addresses };
    if (token !== null) {
      this.#keep(token, null);
      this.#bridgeAt(null);
      this.scope = null;
    } else {
      this.#start ??= tabStorage.read(START);
      this.#tab ??= tabStorage.read(TAB);
    }
    if (token !== null || pair !== null) history.replaceState(history.state, '', `${location.pathname}${location.search}${sessionFragment(shown)}`);
    return token !== null;
  }

  /** Stores the token that this device got by pairing. */
  pairedWith(token: string): void {
    this.#keep(null, null);
    this.#bridgeAt(null);
    this.scope = null;
    browserStorage.write(DEVICE, token);
    // Without storage the device stays paired until the page is reloaded.
    this.#device = browserStorage.read(DEVICE) === token ? null : token;
  }

  unpaired(): void {
    this.#device = null;
    for (const key of [DEVICE, SCOPE, PORT]) browserStorage.write(key, null);
  }

  openEditor(link: string): Promise<void> {
    // A link keeps the page open; the browser asks before it starts another program.
    const anchor = document.createElement('a');
    anchor.href = link;
    anchor.click();
    return Promise.resolve();
  }

  /** Rejects while there is no bridge that knows the token; `UnknownToken` if a program says that it is one. */
  async address(): Promise<Address> {
    const secure = location.protocol === 'https:';
    return {
      socket: `${secure ? 'wss' : 'ws'}://${location.host}/acp`,
      events: `${location.origin}/acp`,
      port: Number(location.port) || (secure ? 443 : 80),
      // The certificate protects the token; and that of a tab is not valid here.
      token: secure ? (this.#tab ?? this.#start ?? this.#deviceToken) : await this.#loopbackToken(),
    };
  }

  async #loopbackToken(): Promise<string | null> {
    const start = this.#start;
    if (start !== null) {
      const port = await proven(start, null);
      const tab = await tabToken(start);
      // Another URL may have been opened meanwhile.
      if (start === this.#start) {
        this.#keep(null, tab);
        this.#bridgeAt(port);
      }
      return tab;
    }
    const token = this.#tab ?? this.#deviceToken;
    if (token === null) return null;
    this.#port ??= this.#stored.read(PORT);
    const port = await proven(token, this.#port === null ? null : Number(this.#port));
    if (token === (this.#tab ?? this.#deviceToken)) this.#bridgeAt(port);
    return token;
  }

  #keep(start: string | null, tab: string | null): void {
    [this.#start, this.#tab] = [start, tab];
    tabStorage.write(START, start);
    tabStorage.write(TAB, tab);
  }

  #bridgeAt(port: number | null): void {
    this.#port = port === null ? null : String(port);
    this.#stored.write(PORT, this.#port);
  }
}
