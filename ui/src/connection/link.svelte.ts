import {
  client,
  PROTOCOL_VERSION,
  type ClientConnection,
  type InitializeResponse,
} from '@agentclientprotocol/sdk';
import type { Address, Backend } from '../backend';
import { pause } from './backoff';
import type { Access } from './devices-wire';
import { socketStream, type Firehose } from './socket-stream';

export type LinkState =
  | { name: 'connecting' }
  | { name: 'live' }
  | { name: 'offline'; since: Date }
  | { name: 'refused'; why: 'no-token' | 'bad-token' };

/** How long the bridge may stay silent before the link counts as broken: at the upgrade, at the greeting, at a pulse. */
export const SILENCE = 10_000;

/** The bridge closes with this code when the token is wrong or missing. */
const REFUSED = 4401;

/** The one connection to the bridge: opens it, keeps it, says how it is. Knows nothing of sessions. */
export class Link {
  state = $state<LinkState>({ name: 'connecting' });
  port = $state<number | null>(null);
  /** The folder that the bridge was started on. */
  root = $state<string | null>(null);
  /** What this page may do there; a bridge that says nothing of it lets nobody in but the person at its machine. */
  access = $state.raw<Access>({ connection: null, computer: null, scope: 'admin', device: null });

  readonly #backend: Backend;
  readonly #firehose: Firehose;
  readonly #onLive: (root: string | null) => void;
  #connection: ClientConnection | null = null;
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #wasLive = false;
  /** Every try has a number: events of an abandoned socket are told apart from those of the current one. */
  #try = 0;
  /** When something last came from the bridge. */
  #heard = 0;

  /** `onLive` is told of a folder to explore once: the first time that the link is up. */
  constructor(backend: Backend, firehose: Firehose, onLive: (root: string | null) => void) {
    this.#backend = backend;
    this.#firehose = firehose;
    this.#onLive = onLive;
    addEventListener('online', () => this.#soon());
    document.addEventListener('visibilitychange', () => {
      if (document.visibilityState === 'visible') this.#soon();
    });
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
  async pulse<Result>(method: string, params: object): Promise<Result> {
    const quiet = this.#watch(this.#try);
    try {
      return await this.request<Result>(method, params);
    } finally {
      clearInterval(quiet);
    }
  }

  /** Gives the link up once nothing at all has come for too long: a slow answer behind others is no silence. */
  #watch(mine: number): ReturnType<typeof setInterval> {
    const since = performance.now();
    const timer = setInterval(() => {
      if (mine !== this.#try) clearInterval(timer);
      else if (performance.now() - Math.max(since, this.#heard) >= SILENCE) this.#lost();
    }, SILENCE / 10);
    return timer;
  }

  notify(method: string, params: object): void {
    void this.#connection?.agent.notify(method, params).catch(() => undefined);
  }

  #soon(): void {
    if (this.state.name === 'offline') this.reconnect();
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
    if (address.token === null) {
      this.#refuse('no-token');
      return;
    }
    let socket: WebSocket;
    try {
      socket = new WebSocket(address.socket, ['openagents.v1', `openagents.token.${address.token}`]);
    } catch {
      // Signs that no subprotocol may hold: this was never a token.
      this.#refuse('bad-token');
      return;
    }
    this.#socket = socket;
    const quiet = this.#watch(mine);
    socket.addEventListener('open', () => {
      clearInterval(quiet);
      if (mine === this.#try) void this.#greet(socket, mine, address.root ?? null);
    });
    socket.addEventListener('message', () => {
      this.#heard = performance.now();
    });
    socket.addEventListener('close', (event) => {
      if (mine !== this.#try) return;
      // The desktop shell is asked for its address at each try, so a refusal there is over at the next one.
      if (event.code === REFUSED && this.#backend.kind === 'browser') this.#refuse('bad-token');
      else this.#lost();
    });
  }

  async #greet(socket: WebSocket, mine: number, root: string | null): Promise<void> {
    const quiet = this.#watch(mine);
    const connection = client({ name: 'openagents-page' }).connect(socketStream(socket, this.#firehose));
    try {
      const answer: InitializeResponse = await connection.agent.request('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        // Approvals are told to this page through the log alone.
        clientCapabilities: { _meta: { openagents: { approvals: true } } },
        clientInfo: { name: 'openagents-page', title: this.#backend.kind === 'tauri' ? 'Desktop' : 'Browser', version: '0.1.0' },
      });
      if (mine !== this.#try) return;
      const meta = answer._meta?.['openagents'] as ({ root?: string } & Partial<Access>) | undefined;
      this.root = meta?.root ?? null;
      this.access = { connection: meta?.connection ?? null, computer: meta?.computer ?? null, scope: meta?.scope ?? 'admin', device: meta?.device ?? null };
      this.#connection = connection;
      this.#attempt = 0;
      this.state = { name: 'live' };
      this.#onLive(this.#wasLive ? null : root);
      this.#wasLive = true;
      clearInterval(quiet);
    } catch {
      // A close that says why may be on its way; without one the watch ends the wait.
      socket.close();
    }
  }

  /** No retry can mend this. */
  #refuse(why: 'no-token' | 'bad-token'): void {
    this.#drop();
    this.state = { name: 'refused', why };
  }

  #lost(): void {
    this.#drop();
    if (this.state.name !== 'offline') this.state = { name: 'offline', since: new Date() };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#open(), pause(this.#attempt++));
  }

  /** Leaves the socket; nothing that it still does counts. */
  #drop(): void {
    this.#try += 1;
    this.#connection?.close();
    this.#connection = null;
    this.#socket?.close();
    this.#socket = null;
  }
}
