import type { Address, Backend } from './backend';
import { type Fragment, parseFragment, sessionFragment } from './fragment';
import { exchanged, proven, type TabTokens } from './proof';
import { browserStorage, tabStorage } from './storage';

const RELOAD = 'openagents.reload';
const DEVICE = 'openagents.device';
/** Stored with a token: the port of its bridge, and the scope. */
const PORT = 'openagents.port';
const SCOPE = 'openagents.scope';

export interface Offer extends Pick<Fragment, 'fingerprint' | 'addresses'> {
  code: string | null;
}

/**
 * A page in a browser. The token from the fragment is exchanged for two: one that this page holds in memory, valid after
 * a restart of the bridge too, and one for this tab when it is reloaded, kept until then or until the bridge ends. The
 * token of a paired device is kept until the device is unpaired, but only on a page with TLS.
 *
 * Without TLS, no token is given to a program that has not proved that it is the bridge. If another program answers a reload, its page
 * can read this tab's storage; so nothing that is stored without TLS is valid once the bridge has ended. See `crates/remote/src/devices/tabs.rs`.
 */
export class BrowserBackend implements Backend {
  readonly kind = 'browser';
  /** The pairing data of the URL that was opened. */
  offer: Offer = { code: null, fingerprint: null, addresses: [] };
  /** The token of the bridge's start, until it is exchanged. Never stored. */
  #start: string | null = null;
  /** Never stored. */
  #tab: string | null = null;
  #reload: string | null = null;
  /** Of a device without storage, or without TLS. */
  #device: string | null = null;
  #port: string | null = null;

  constructor() {
    // Earlier versions stored it without TLS.
    if (!this.#secure) browserStorage.write(DEVICE, null);
    this.takeToken();
  }

  /** The token belongs to a paired device. */
  get paired(): boolean {
    return this.#local === null && this.#deviceToken !== null;
  }

  /** A token of the user at this computer. */
  get #local(): string | null {
    return this.#start ?? this.#tab ?? this.#reload;
  }

  get #deviceToken(): string | null {
    return this.#device ?? (this.#secure ? browserStorage.read(DEVICE) : null);
  }

  get #secure(): boolean {
    return location.protocol === 'https:';
  }

  get #stored(): typeof tabStorage {
    return this.#local === null ? browserStorage : tabStorage;
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
      this.#keep(null);
      this.#start = token;
      this.#bridgeAt(null);
      this.scope = null;
    } else {
      this.#reload ??= tabStorage.read(RELOAD);
    }
    if (token !== null || pair !== null)
      history.replaceState(history.state, '', `${location.pathname}${location.search}${sessionFragment(shown)}`);
    return token !== null;
  }

  /** Stores the token that this device got by pairing. */
  pairedWith(token: string): void {
    this.#keep(null);
    this.#bridgeAt(null);
    this.scope = null;
    if (this.#secure) browserStorage.write(DEVICE, token);
    // Otherwise the device stays paired until the page is reloaded.
    this.#device = this.#deviceToken === token ? null : token;
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
    const secure = this.#secure;
    return {
      socket: `${secure ? 'wss' : 'ws'}://${location.host}/acp`,
      events: `${location.origin}/acp`,
      port: Number(location.port) || (secure ? 443 : 80),
      // The certificate protects the token; and those of a tab are not valid here.
      token: secure ? (this.#local ?? this.#deviceToken) : await this.#loopbackToken(),
    };
  }

  async #loopbackToken(): Promise<string | null> {
    const local = this.#local;
    const held = local ?? this.#deviceToken;
    if (held === null) return null;
    this.#port ??= this.#stored.read(PORT);
    const port = await proven(held, this.#port === null ? null : Number(this.#port));
    const own = local === null ? null : await exchanged(local);
    // Another URL may have been opened meanwhile, or the device paired.
    if (held === (this.#local ?? this.#deviceToken)) {
      if (own !== null) this.#keep(own);
      this.#bridgeAt(port);
    }
    return own?.token ?? held;
  }

  #keep(own: TabTokens | null): void {
    this.#start = null;
    [this.#tab, this.#reload] = [own?.token ?? null, own?.reload ?? null];
    tabStorage.write(RELOAD, this.#reload);
  }

  #bridgeAt(port: number | null): void {
    this.#port = port === null ? null : String(port);
    this.#stored.write(PORT, this.#port);
  }
}
