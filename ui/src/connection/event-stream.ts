import type { AnyMessage } from '@agentclientprotocol/sdk';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { Delivery } from './delivery';
import { CLOSE, inbox, type Open } from './transport';

const CONNECTION = 'Acp-Connection-Id';
/** The comment that the bridge ends a stream with: what it would close a WebSocket with. */
const LAST_WORDS = /^\s*closed (\d+) (.*)$/;

/**
 * Talks over plain HTTP: each message is a POST, and everything that the bridge says comes on one stream of events.
 *
 * For browsers that open the page over a certificate which they do not trust, but no WebSocket: Safari on iOS. It is
 * fetched instead of read by an EventSource, which could send no token.
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
    // The bridge would wait for it to come back.
    if (connection !== null) void call('DELETE', { keepalive: true }).catch(() => undefined);
    return true;
  }

  function close(): void {
    finish();
  }

  function broke(code: number = CLOSE.broken, reason = ''): void {
    if (finish()) events.closed(code, reason);
  }

  function call(method: string, more: RequestInit = {}): Promise<Response> {
    const headers = new Headers(more.headers);
    headers.set('Authorization', `Bearer ${token}`);
    if (connection !== null) headers.set(CONNECTION, connection);
    return fetch(url, { method, cache: 'no-store', credentials: 'omit', ...more, headers });
  }

  /** Throws when the bridge says no: with the answer, so that it can be told apart. */
  async function asked(method: string, more: RequestInit): Promise<Response> {
    const response = await call(method, { ...more, signal: ended.signal });
    if (response.status === 401) broke(CLOSE.refused);
    // It does not know this connection any more.
    else if (response.status === 404 || response.status === 410) broke();
    if (!response.ok) throw new Refusal(response.status, await response.text());
    return response;
  }

  async function send(message: AnyMessage): Promise<void> {
    const response = await asked('POST', { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(message) });
    // Only the greeting is answered here; all other answers come as events.
    if (connection !== null) return;
    connection = response.headers.get(CONNECTION);
    const greeting = await response.text();
    if (connection !== null) await follow();
    events.heard();
    delivery.take(greeting);
  }

  /** Resolves once the stream is open, and goes on reading it. */
  async function follow(): Promise<void> {
    const { body } = await asked('GET', { headers: { Accept: 'text/event-stream' } });
    if (body === null) throw new Error('There is no stream of events.');
    void read(body).then(() => broke(), () => broke());
  }

  /** Signs of life, and last words. */
  function remarked(comment: string): void {
    events.heard();
    const [, code, reason] = LAST_WORDS.exec(comment) ?? [];
    if (code !== undefined) broke(Number(code), reason);
  }

  async function read(body: ReadableStream<Uint8Array<ArrayBuffer>>): Promise<void> {
    const parser = new EventSourceParserStream({ onComment: remarked });
    // What is not read yet stays with the bridge: a page that falls behind is told so there.
    const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || over) return;
      events.heard();
      delivery.take(value.data);
    }
  }

  const writable = new WritableStream<AnyMessage>({
    async write(message) {
      if (over) throw new Error('The link to OpenAgents is down.');
      try {
        await send(message);
      } catch (error) {
        // A request that was refused fails alone; anything else is the end of the link.
        if (error instanceof Refusal && connection !== null && 'method' in message && 'id' in message) put(error.answer(message.id));
        else broke();
      }
    },
    close,
    abort: close,
  });
  // A WebSocket ends with its page; this has to be said.
  addEventListener('pagehide', () => broke(), { signal: ended.signal });
  queueMicrotask(() => {
    if (!over) events.opened();
  });
  return { stream: { readable, writable }, close };
};

/** An answer of HTTP that is no success. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(body || `The bridge answered with ${status}.`);
  }

  /** The same as the answer to a request. */
  answer(id: string | number | null): AnyMessage {
    try {
      return { ...(JSON.parse(this.body) as AnyMessage), id };
    } catch {
      return { jsonrpc: '2.0', id, error: { code: -32603, message: this.message } };
    }
  }
}
