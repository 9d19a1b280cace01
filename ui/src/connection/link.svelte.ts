import { client, PROTOCOL_VERSION, type ClientConnection, type InitializeResponse } from '@agentclientprotocol/sdk';
import type { Address, Backend } from '../backend';
import { UnknownToken } from '../backend/proof';
import type { Firehose } from './delivery';
import { type ClientAccess, SCOPES, openagents } from './protocol';
import { CLOSE, openEvents, openSocket, type Transport, type TransportName } from './transport';

export type LinkState =
  | { name: 'connecting' }
  | { name: 'live' }
  | { name: 'offline'; since: Date }
  /** `unproven`: reported by a program that has not proved that it is the bridge; the page retries. */
  | { name: 'refused'; why: Refusal; unproven?: true }
  /** This device was removed; `computer` is the machine's name. */
  | { name: 'removed'; computer: string };

/** `unpaired`: the token was that of a paired device. */
export type Refusal = 'no-token' | 'bad-token' | 'unpaired';

/** Milliseconds of silence after which the connection counts as broken: while opening, in `initialize` and after a pulse. */
export const SILENCE = 10_000;
/** The same after the page becomes visible again, since a phone's socket may have died in the background. */
export const SILENCE_ON_RETURN = 2_500;
/** Milliseconds without a message after which a pulse is sent. */
export const QUIET = 10_000;
/** Failed WebSocket attempts, with the bridge reachable, before events are used. */
const UNOPENED = 2;

/** The one connection to the bridge: opens it, keeps it alive and reports its state. It knows nothing about sessions. */
export class Link {
  state = $state<LinkState>({ name: 'connecting' });
  port = $state<number | null>(null);
  root = $state<string | null>(null);
  /** The scope of this page: the last known one until the bridge confirms it. */
  access = $state.raw<ClientAccess>({ connection: null, computer: null, scope: 'view', device: null, known: false });
  transport = $state<TransportName>('websocket');

  readonly #backend: Backend;
  readonly #firehose: Firehose;
  readonly #onLive: (root: string | null) => void;
  #connection: ClientConnection | null = null;
  #transport: Transport | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #wasLive = false;
  /** Consecutive WebSocket failures with the bridge reachable. */
  #unopened = 0;
  /** Events worked where WebSockets failed; used until the page is reloaded. */
  #eventsWork = false;
  /** Numbers each attempt, so that events of an abandoned transport can be ignored. */
  #try = 0;
  /** When the last message arrived, by `performance.now()`. */
  #receivedAt = 0;

  /** `onLive` receives the folder to explore on the first connection, null later. */
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
      if (
        document.visibilityState === 'visible' &&
        this.state.name === 'live' &&
        performance.now() - this.#receivedAt >= QUIET
      )
        this.#ask(SILENCE);
    }, QUIET / 2);
  }

  allowed(change: Partial<ClientAccess>): void {
    this.access = { ...this.access, ...change, known: true };
    this.#backend.scope = this.access.scope;
  }

  /** Restores the last known scope until the bridge confirms it. */
  #remembered(): void {
    const scope = SCOPES.find((known) => known === this.#backend.scope);
    this.access = {
      connection: null,
      computer: null,
      scope: scope ?? 'view',
      device: null,
      known: scope !== undefined,
    };
  }

  /** Drops the current connection and connects at once. */
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

  /** A request with a prompt answer: silence means that the connection is broken. */
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

  /** Drops the connection after `silence` milliseconds without any message. A slow answer behind other messages is fine. */
  #watch(mine: number, silence: number): ReturnType<typeof setInterval> {
    const since = performance.now();
    const timer = setInterval(() => {
      if (mine !== this.#try) clearInterval(timer);
      else if (performance.now() - Math.max(since, this.#receivedAt) >= silence) this.#lost();
    }, silence / 10);
    return timer;
  }

  /** Any answer, even a refusal, proves that the connection works. */
  #ask(silence: number): void {
    void this.pulse('_openagents/devices/me', {}, silence).catch(() => undefined);
  }

  /** The page or its network was away, so neither the old socket nor a pending pause can be trusted. */
  #returned(): void {
    if (this.state.name === 'offline') this.reconnect();
    else if (this.state.name === 'live') this.#ask(SILENCE_ON_RETURN);
  }

  async #open(): Promise<void> {
    this.#drop();
    const mine = this.#try;
    if (this.state.name !== 'offline' && this.state.name !== 'refused') this.state = { name: 'connecting' };
    let address: Address;
    try {
      address = await this.#backend.address();
    } catch (error) {
      if (mine !== this.#try) return;
      if (!(error instanceof UnknownToken)) return this.#lost();
      this.#drop();
      this.state = { name: 'refused', why: this.#refusal, unproven: true };
      return this.#later();
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
        received: () => (this.#receivedAt = performance.now()),
        closed: (code) => {
          if (mine !== this.#try) return;
          if (!opened && !overEvents && events !== undefined) void this.#unopenable(events, mine);
          else this.#closed(code);
        },
      });
    } catch {
      // The token contains characters that a subprotocol may not: it was never valid.
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
        // Approvals reach this page through the log only.
        clientCapabilities: { _meta: { openagents: { approvals: true, oneStream: true } } },
        clientInfo: {
          name: 'openagents-page',
          title: this.#backend.kind === 'tauri' ? 'Desktop' : 'Browser',
          version: '0.1.0',
        },
      });
      if (mine !== this.#try) return;
      const meta = openagents<{ root: string } & ClientAccess>(answer._meta);
      this.root = meta.root ?? null;
      const { connection: id = null, computer = null, scope = 'view', device = null } = meta;
      this.allowed({ connection: id, computer, scope, device });
      this.transport = transport;
      this.#eventsWork = transport === 'events';
      this.#connection = connection;
      this.#attempt = 0;
      this.state = { name: 'live' };
      this.#onLive(this.#wasLive ? null : root);
      this.#wasLive = true;
      clearInterval(quiet);
    } catch {
      // A close frame with the reason may follow; otherwise the watch times out.
    }
  }

  /** A WebSocket failed to open: either the bridge is gone, or this browser rejects its certificate for WebSockets. */
  async #unopenable(events: string, mine: number): Promise<void> {
    // Any response will do. `no-store` keeps the service worker from answering.
    const there = await fetch(new URL('/favicon.svg', events), {
      cache: 'no-store',
      signal: AbortSignal.timeout(SILENCE),
    }).then(
      () => true,
      () => false,
    );
    if (mine !== this.#try) return;
    this.#unopened = there ? this.#unopened + 1 : 0;
    if (this.#unopened === UNOPENED) void this.#open();
    else this.#lost();
  }

  #closed(code: number): void {
    // The desktop shell returns a fresh address on each attempt, so a refusal there is temporary.
    if (code === CLOSE.refused && this.#backend.kind === 'browser') this.#refuse(this.#refusal);
    else if (code === CLOSE.removed) this.#removed();
    else if (code === CLOSE.behind) this.reconnect();
    else this.#lost();
  }

  get #refusal(): Refusal {
    return this.#backend.paired === true ? 'unpaired' : 'bad-token';
  }

  /** Enters a state that retrying cannot fix. */
  #refuse(why: Refusal): void {
    this.#drop();
    this.state = { name: 'refused', why };
  }

  #removed(): void {
    this.#drop();
    this.state = { name: 'removed', computer: this.access.computer ?? 'the desktop' };
  }

  #lost(): void {
    this.#drop();
    if (this.state.name !== 'offline') this.state = { name: 'offline', since: new Date() };
    this.#later();
  }

  #later(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#open(), pause(this.#attempt++));
  }

  /** Abandons the transport; its later events are ignored. */
  #drop(): void {
    this.#try += 1;
    this.#connection?.close();
    this.#connection = null;
    this.#transport?.close();
    this.#transport = null;
  }
}

const FIRST = 500;
const MOST = 20_000;

/** The pause before reconnect number `attempt` (from 0). Jittered, so that many pages do not reconnect at once. */
export function pause(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(MOST, FIRST * 2 ** Math.min(attempt, 10));
  return Math.round(whole / 2 + (whole / 2) * random());
}
