import { client, PROTOCOL_VERSION, type ClientConnection, type InitializeResponse } from '@agentclientprotocol/sdk';
import type { Address, Backend } from '../backend';
import { pause } from './backoff';
import type { Firehose } from './delivery';
import { SCOPES, type Access } from './devices-wire';
import { openEvents } from './event-stream';
import { openSocket } from './socket-stream';
import { CLOSE, type Transport, type TransportName } from './transport';

export type LinkState =
  | { name: 'connecting' }
  | { name: 'live' }
  | { name: 'offline'; since: Date }
  | { name: 'refused'; why: Refusal }
  /** This device was removed; the name of the machine where. */
  | { name: 'removed'; computer: string };

/** `unpaired`: the token was that of a paired device. */
export type Refusal = 'no-token' | 'bad-token' | 'unpaired';

/** How long the bridge may stay silent before the link counts as broken: at the upgrade, at the greeting, at a pulse. */
export const SILENCE = 10_000;
/** The same for a page that comes back: a phone's socket may have died while the page was frozen. */
export const SILENCE_ON_RETURN = 2_500;
/** A link over which nothing has come for so long is asked whether it lives. */
export const QUIET = 10_000;
/** So many WebSockets that could not be opened, though the bridge was there, and events take over. */
const UNOPENED = 2;

/** The one connection to the bridge: opens it, keeps it, says how it is. Knows nothing of sessions. */
export class Link {
  state = $state<LinkState>({ name: 'connecting' });
  port = $state<number | null>(null);
  /** The folder that the bridge was started on. */
  root = $state<string | null>(null);
  /** What this page may do there: what it was allowed last, until the bridge says it anew. */
  access = $state.raw<Access>({ connection: null, computer: null, scope: 'view', device: null, known: false });
  transport = $state<TransportName>('websocket');

  readonly #backend: Backend;
  readonly #firehose: Firehose;
  readonly #onLive: (root: string | null) => void;
  #connection: ClientConnection | null = null;
  #transport: Transport | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #wasLive = false;
  /** WebSockets that could not be opened although the bridge was there, one after the other. */
  #unopened = 0;
  /** Events worked where no WebSocket could be opened: no more of those are tried until the page is loaded again. */
  #eventsWork = false;
  /** Every try has a number: events of an abandoned transport are told apart from those of the current one. */
  #try = 0;
  /** When something last came from the bridge. */
  #heard = 0;

  /** `onLive` is told of a folder to explore once: the first time that the link is up. */
  constructor(backend: Backend, firehose: Firehose, onLive: (root: string | null) => void) {
    this.#backend = backend;
    this.#remembered();
    this.#firehose = firehose;
    this.#onLive = onLive;
    addEventListener('online', () => this.#returned());
    addEventListener('pageshow', (event) => {
      if (event.persisted) this.#returned();
    });
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#returned();
    });
    setInterval(() => {
      if (document.visibilityState === 'visible' && this.state.name === 'live' && performance.now() - this.#heard >= QUIET) this.#ask(SILENCE);
    }, QUIET / 2);
  }

  /** The bridge says what this page may do. */
  allowed(change: Partial<Access>): void {
    this.access = { ...this.access, ...change, known: true };
    this.#backend.scope = this.access.scope;
  }

  /** Until the bridge says it anew. */
  #remembered(): void {
    const scope = SCOPES.find((known) => known === this.#backend.scope);
    this.access = { connection: null, computer: null, scope: scope ?? 'view', device: null, known: scope !== undefined };
  }

  /** Drops what there is and connects now. */
  reconnect(): void {
    clearTimeout(this.#timer);
    this.#attempt = 0;
    void this.#open();
  }

  async request<Result>(method: string, params: object): Promise<Result> {
    const connection = this.#connection;
    if (connection === null) throw new Error('OpenAgents is not connected.');
    return connection.agent.request<Result>(method, params);
  }

  /** A request whose answer is due soon: silence instead of an answer means that the link is broken. */
  async pulse<Result>(method: string, params: object, silence = SILENCE): Promise<Result> {
    const quiet = this.#watch(this.#try, silence);
    try {
      return await this.request<Result>(method, params);
    } finally {
      clearInterval(quiet);
    }
  }

  notify(method: string, params: object): void {
    void this.#connection?.agent.notify(method, params).catch(() => undefined);
  }

  /** Gives the link up once nothing at all has come for too long: a slow answer behind others is no silence. */
  #watch(mine: number, silence: number): ReturnType<typeof setInterval> {
    const since = performance.now();
    const timer = setInterval(() => {
      if (mine !== this.#try) clearInterval(timer);
      else if (performance.now() - Math.max(since, this.#heard) >= silence) this.#lost();
    }, silence / 10);
    return timer;
  }

  /** A sign of life is all that is wanted: a refusal is one as well. */
  #ask(silence: number): void {
    void this.pulse('_openagents/devices/me', {}, silence).catch(() => undefined);
  }

  /** The page was away, or its network was: neither a socket nor a pause from before is to be trusted. */
  #returned(): void {
    if (this.state.name === 'offline') this.reconnect();
    else if (this.state.name === 'live') this.#ask(SILENCE_ON_RETURN);
  }

  async #open(): Promise<void> {
    this.#drop();
    const mine = this.#try;
    if (this.state.name !== 'offline') this.state = { name: 'connecting' };
    let address: Address;
    try {
      address = await this.#backend.address();
    } catch {
      if (mine === this.#try) this.#lost();
      return;
    }
    if (mine !== this.#try) return;
    this.port = address.port;
    const { token, events } = address;
    if (token === null) return this.#refuse('no-token');
    const overEvents = events !== undefined && (this.#eventsWork || this.#unopened >= UNOPENED);
    if (overEvents) this.#unopened = 0;
    const quiet = this.#watch(mine, SILENCE);
    let opened = false;
    try {
      this.#transport = (overEvents ? openEvents : openSocket)({ ...address, token }, this.#firehose, {
        opened: () => {
          opened = true;
          clearInterval(quiet);
          this.#unopened = 0;
          void this.#greet(mine, overEvents ? 'events' : 'websocket', address.root ?? null);
        },
        heard: () => (this.#heard = performance.now()),
        closed: (code, reason) => {
          if (mine !== this.#try) return;
          if (!opened && !overEvents && events !== undefined) void this.#unopenable(events, mine);
          else this.#closed(code, reason);
        },
      });
    } catch {
      // Signs that no subprotocol may hold: this was never a token.
      this.#refuse('bad-token');
    }
  }

  async #greet(mine: number, transport: TransportName, root: string | null): Promise<void> {
    if (mine !== this.#try || this.#transport === null) return;
    const quiet = this.#watch(mine, SILENCE);
    const connection = client({ name: 'openagents-page' }).connect(this.#transport.stream);
    try {
      const answer: InitializeResponse = await connection.agent.request('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        // Approvals are told to this page through the log alone.
        clientCapabilities: { _meta: { openagents: { approvals: true, oneStream: true } } },
        clientInfo: { name: 'openagents-page', title: this.#backend.kind === 'tauri' ? 'Desktop' : 'Browser', version: '0.1.0' },
      });
      if (mine !== this.#try) return;
      const meta = answer._meta?.['openagents'] as ({ root?: string } & Partial<Access>) | undefined;
      this.root = meta?.root ?? null;
      // A bridge that says nothing of it lets nobody in but the person at its machine.
      this.allowed({ connection: meta?.connection ?? null, computer: meta?.computer ?? null, scope: meta?.scope ?? 'admin', device: meta?.device ?? null });
      this.transport = transport;
      this.#eventsWork = transport === 'events';
      this.#connection = connection;
      this.#attempt = 0;
      this.state = { name: 'live' };
      this.#onLive(this.#wasLive ? null : root);
      this.#wasLive = true;
      clearInterval(quiet);
    } catch {
      // A close that says why may be on its way; without one the watch ends the wait.
    }
  }

  /** A WebSocket that could not be opened: either nobody is there, or this browser opens none to that certificate. */
  async #unopenable(events: string, mine: number): Promise<void> {
    // Any answer will do. What must not be stored does not come from a service worker.
    const there = await fetch(new URL('/favicon.svg', events), { cache: 'no-store', signal: AbortSignal.timeout(SILENCE) }).then(
      () => true,
      () => false,
    );
    if (mine !== this.#try) return;
    this.#unopened = there ? this.#unopened + 1 : 0;
    if (this.#unopened === UNOPENED) void this.#open();
    else this.#lost();
  }

  #closed(code: number, reason: string): void {
    // The desktop shell is asked for its address at each try, so a refusal there is over at the next one.
    if (code === CLOSE.refused && this.#backend.kind === 'browser') this.#refuse(this.#backend.paired === true ? 'unpaired' : 'bad-token');
    else if (code === CLOSE.removed) this.#remove(reason);
    else if (code === CLOSE.behind) this.reconnect();
    else this.#lost();
  }

  /** No retry can mend this. */
  #refuse(why: Refusal): void {
    this.#drop();
    this.state = { name: 'refused', why };
  }

  #remove(reason: string): void {
    this.#drop();
    const named = /removed on (.+?)\.?$/.exec(reason)?.[1];
    this.state = { name: 'removed', computer: this.access.computer ?? named ?? 'the desktop' };
  }

  #lost(): void {
    this.#drop();
    if (this.state.name !== 'offline') this.state = { name: 'offline', since: new Date() };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#open(), pause(this.#attempt++));
  }

  /** Leaves the transport; nothing that it still does counts. */
  #drop(): void {
    this.#try += 1;
    this.#connection?.close();
    this.#connection = null;
    this.#transport?.close();
    this.#transport = null;
  }
}
