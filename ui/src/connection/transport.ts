import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import type { Address } from '../backend';
import { Delivery, type Firehose } from './delivery';

/** The transport: one WebSocket, or HTTP with an event stream where none can be opened. */
export type TransportName = 'websocket' | 'events';

/** One connection attempt and the connection it leads to. */
export interface Transport {
  readonly stream: Stream;
  /** No events follow once it is closed from here. */
  close(): void;
}

interface TransportEvents {
  opened(): void;
  /** A message or a keep-alive arrived. */
  received(): void;
  /** The connection ended; uses WebSocket close codes. */
  closed(code: number): void;
}

export type Open = (address: Address & { token: string }, firehose: Firehose, events: TransportEvents) => Transport;

/** The bridge's close codes. */
export const CLOSE = {
  /** The token is wrong or its device is no longer paired. */
  refused: 4401,
  /** This device was removed while it was connected. */
  removed: 4403,
  /** This page read its updates too slowly; it continues after the last one it has. */
  behind: 4408,
  /** The connection broke. */
  broken: 1006,
} as const;

/** The readable end of a transport, and the functions that fill it. */
function inbox(cancel: () => void): {
  readable: ReadableStream<AnyMessage>;
  put: (message: AnyMessage) => void;
  end: () => void;
} {
  let controller: ReadableStreamDefaultController<AnyMessage>;
  const readable = new ReadableStream<AnyMessage>({ start: (own) => void (controller = own), cancel });
  const unlessLeft = (act: () => void): void => {
    try {
      act();
    } catch {
      // The reader has already left.
    }
  };
  return {
    readable,
    put: (message) => unlessLeft(() => controller.enqueue(message)),
    end: () => unlessLeft(() => controller.close()),
  };
}

/** Talks over one WebSocket. Throws if the token contains characters that a subprotocol may not: it was never valid. */
export const openSocket: Open = ({ socket: url, token }, firehose, events) => {
  const socket = new WebSocket(url, ['openagents.v1', `openagents.token.${token}`]);
  const { readable, put, end } = inbox(close);
  const delivery = new Delivery(firehose, put);
  let over = false;

  function finish(): boolean {
    if (over) return false;
    over = true;
    delivery.end();
    end();
    return true;
  }

  function close(): void {
    finish();
    socket.close(1000);
  }

  socket.addEventListener('open', () => {
    if (!over) events.opened();
  });
  socket.addEventListener('message', (event: MessageEvent<unknown>) => {
    if (over || typeof event.data !== 'string') return;
    events.received();
    delivery.take(event.data);
  });
  socket.addEventListener('close', ({ code }) => {
    if (finish()) events.closed(code);
  });

  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if (socket.readyState !== WebSocket.OPEN) throw new Error('OpenAgents is not connected.');
      socket.send(JSON.stringify(message));
    },
    close,
    abort: close,
  });
  return { stream: { readable, writable }, close };
};

const CONNECTION = 'Acp-Connection-Id';
/** The comment with which the bridge ends a stream, in place of a WebSocket close frame. */
const LAST_WORDS = /^\s*closed (\d+) (.*)$/;

/**
 * Talks over plain HTTP: each message is a POST, and everything from the bridge arrives on one event stream.
 *
 * Used where the page opens over an untrusted certificate but a WebSocket does not: Safari on iOS. It uses fetch because
 * an EventSource cannot send a token.
 */
export const openEvents: Open = ({ events: url = '', token }, firehose, events) => {
  const ended = new AbortController();
  const { readable, put, end } = inbox(close);
  const delivery = new Delivery(firehose, put);
  let connection: string | null = null;
  let over = false;

  function finish(): boolean {
    if (over) return false;
    over = true;
    delivery.end();
    end();
    ended.abort();
    // Otherwise the bridge would wait for this connection to come back.
    if (connection !== null) void call('DELETE', { keepalive: true }).catch(() => undefined);
    return true;
  }

  function close(): void {
    finish();
  }

  function broke(code: number = CLOSE.broken): void {
    if (finish()) events.closed(code);
  }

  function call(method: string, more: RequestInit = {}): Promise<Response> {
    const headers = new Headers(more.headers);
    headers.set('Authorization', `Bearer ${token}`);
    if (connection !== null) headers.set(CONNECTION, connection);
    return fetch(url, { method, cache: 'no-store', credentials: 'omit', ...more, headers });
  }

  /** Throws a `Refusal` with the response body if the status is not a success. */
  async function asked(method: string, more: RequestInit): Promise<Response> {
    const response = await call(method, { ...more, signal: ended.signal });
    if (response.status === 401) broke(CLOSE.refused);
    // The bridge no longer knows this connection.
    else if (response.status === 404 || response.status === 410) broke();
    if (!response.ok) throw new Refusal(response.status, await response.text());
    return response;
  }

  async function send(message: AnyMessage): Promise<void> {
    const response = await asked('POST', {
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(message),
    });
    // Only `initialize` is answered in the response; all other answers arrive as events.
    if (connection !== null) return;
    connection = response.headers.get(CONNECTION);
    const greeting = await response.text();
    if (connection !== null) await follow();
    events.received();
    delivery.take(greeting);
  }

  /** Resolves once the stream is open; reading continues in the background. */
  async function follow(): Promise<void> {
    const { body } = await asked('GET', { headers: { Accept: 'text/event-stream' } });
    if (body === null) throw new Error('OpenAgents sent no event stream.');
    void read(body).then(
      () => broke(),
      () => broke(),
    );
  }

  /** Handles keep-alives and the closing comment. */
  function remarked(comment: string): void {
    events.received();
    const code = LAST_WORDS.exec(comment)?.[1];
    if (code !== undefined) broke(Number(code));
  }

  async function read(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const parser = new EventSourceParserStream({ onComment: remarked });
    // Unread data stays with the bridge, which closes the connection of a page that falls behind.
    const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || over) return;
      events.received();
      delivery.take(value.data);
    }
  }

  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      if (over) throw new Error('OpenAgents is not connected.');
      try {
        await send(message);
      } catch (error) {
        // A refused request fails alone; any other error ends the connection.
        if (error instanceof Refusal && connection !== null && 'method' in message && 'id' in message)
          put(error.answer(message.id));
        else broke();
      }
    },
    close,
    abort: close,
  });
  // A WebSocket closes with its page; this connection has to be ended explicitly.
  addEventListener('pagehide', () => broke(), { signal: ended.signal });
  queueMicrotask(() => {
    if (!over) events.opened();
  });
  return { stream: { readable, writable }, close };
};

class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(body || `OpenAgents answered with HTTP ${status}.`);
  }

  /** Returns it as the error response to request `id`. */
  answer(id: string | number | null): AnyMessage {
    try {
      return { ...(JSON.parse(this.body) as AnyMessage), id };
    } catch {
      return { jsonrpc: '2.0', id, error: { code: -32603, message: this.message } };
    }
  }
}
