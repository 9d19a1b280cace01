import {
  client,
  PROTOCOL_VERSION,
  RequestError,
  type ClientConnection,
  type InitializeResponse,
} from '@agentclientprotocol/sdk';
import type { Address, Backend } from '../backend';
import { pause } from './backoff';
import { socketStream, type Firehose } from './socket-stream';

export type LinkState =
  | { name: 'connecting' }
  | { name: 'live' }
  | { name: 'offline'; since: Date }
  | { name: 'refused'; why: 'no-token' | 'bad-token' };

/** How long an upgrade may take before it counts as failed. */
const OPEN_DEADLINE = 10_000;

/** The one connection to the bridge: opens it, keeps it, says how it is. Knows nothing of sessions. */
export class Link {
  state = $state<LinkState>({ name: 'connecting' });
  port = $state<number | null>(null);
  /** The folder that the bridge was started on. */
  root = $state<string | null>(null);

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

  notify(method: string, params: object): void {
    void this.#connection?.agent.notify(method, params).catch(() => undefined);
  }

  #soon(): void {
    if (this.state.name === 'offline') this.reconnect();
  }

  async #open(): Promise<void> {
    const mine = ++this.#try;
    this.#drop();
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
      this.state = { name: 'refused', why: 'no-token' };
      return;
    }
    const socket = new WebSocket(address.socket, ['openagents.v1', `openagents.token.${address.token}`]);
    this.#socket = socket;
    let opened = false;
    const deadline = setTimeout(() => socket.close(), OPEN_DEADLINE);
    socket.addEventListener('open', () => {
      clearTimeout(deadline);
      opened = true;
      if (mine === this.#try) void this.#greet(socket, mine, address.root ?? null);
    });
    socket.addEventListener('close', () => {
      clearTimeout(deadline);
      if (mine !== this.#try) return;
      if (opened) this.#lost();
      else void this.#explain(address, mine);
    });
  }

  async #greet(socket: WebSocket, mine: number, root: string | null): Promise<void> {
    const connection = client({ name: 'openagents-page' }).connect(socketStream(socket, this.#firehose));
    try {
      const answer: InitializeResponse = await connection.agent.request('initialize', {
        protocolVersion: PROTOCOL_VERSION,
        clientCapabilities: {},
        clientInfo: { name: 'openagents-page', title: this.#backend.kind === 'tauri' ? 'Desktop' : 'Browser', version: '0.1.0' },
      });
      if (mine !== this.#try) return;
      const meta = answer._meta?.['openagents'] as { root?: string } | undefined;
      this.root = meta?.root ?? null;
      this.#connection = connection;
      this.#attempt = 0;
      this.state = { name: 'live' };
      this.#onLive(this.#wasLive ? null : root);
      this.#wasLive = true;
    } catch {
      if (mine === this.#try) socket.close();
    }
  }

  /** A browser does not say why an upgrade failed; whether plain HTTP works tells a refusal from a silent bridge. */
  async #explain(address: Address, mine: number): Promise<void> {
    let reachable = true;
    try {
      await fetch(address.page, { method: 'GET', mode: 'no-cors', cache: 'no-store' });
    } catch {
      reachable = false;
    }
    if (mine !== this.#try) return;
    // The desktop shell hands out a fresh token at each try, so a refusal there is over at the next one.
    if (reachable && this.#backend.kind === 'browser') this.state = { name: 'refused', why: 'bad-token' };
    else this.#lost();
  }

  #lost(): void {
    this.#drop();
    if (this.state.name !== 'offline') this.state = { name: 'offline', since: new Date() };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#open(), pause(this.#attempt++));
  }

  #drop(): void {
    this.#connection?.close();
    this.#connection = null;
    this.#socket?.close();
    this.#socket = null;
  }
}

/** One sentence for a person out of whatever a request threw. */
export function sentence(error: unknown): string {
  if (error instanceof RequestError) {
    const data = error.data as { details?: unknown; message?: unknown } | string | undefined;
    const detail = typeof data === 'string' ? data : (data?.details ?? data?.message);
    return typeof detail === 'string' && !error.message.includes(detail) ? `${error.message}: ${detail}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}
