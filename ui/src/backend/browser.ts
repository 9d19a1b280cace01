import type { Address, Backend } from './backend';
import { parseFragment, sessionFragment } from './fragment';

const KEY = 'openagents.token';

/** A tab: the token comes in the fragment once and stays for as long as the tab does. */
export class BrowserBackend implements Backend {
  readonly kind = 'browser';
  #token: string | null = null;

  constructor() {
    this.takeToken();
  }

  /** Returns true when the address carried a token, which is then gone from the address bar. */
  takeToken(): boolean {
    const { token, session } = parseFragment(location.hash);
    if (token === null) {
      this.#token ??= sessionStorage.getItem(KEY);
      return false;
    }
    this.#token = token;
    sessionStorage.setItem(KEY, token);
    history.replaceState(history.state, '', `${location.pathname}${location.search}${sessionFragment(session)}`);
    return true;
  }

  address(): Promise<Address> {
    const secure = location.protocol === 'https:';
    return Promise.resolve({
      socket: `${secure ? 'wss' : 'ws'}://${location.host}/acp`,
      port: Number(location.port) || (secure ? 443 : 80),
      token: this.#token,
    });
  }
}
