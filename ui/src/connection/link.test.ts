import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Backend } from '../backend';
import { UnknownToken } from '../backend/proof';
import type { Firehose } from './delivery';
import type { Scope } from './wire';
import { Link, pause, QUIET, SILENCE, SILENCE_ON_RETURN } from './link.svelte';

/** A socket whose peer is the test. */
class Socket extends EventTarget {
  static readonly OPEN = 1;
  static all: Socket[] = [];
  readyState = 0;
  sent: { id: number; method: string }[] = [];

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {
    super();
    Socket.all.push(this);
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text) as { id: number; method: string });
  }

  /** A frozen bridge never answers a close. */
  close(): void {
    this.readyState = 2;
  }

  opens(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event('open'));
  }

  closes(code: number, reason = ''): void {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event('close'), { code, reason }));
  }

  async says(message: object): Promise<void> {
    this.dispatchEvent(Object.assign(new Event('message'), { data: JSON.stringify({ jsonrpc: '2.0', ...message }) }));
    await settled();
  }

  async answers(method: string, result: object): Promise<void> {
    const request = this.sent.find((frame) => frame.method === method);
    expect(request, `${method} has been asked`).toBeDefined();
    await this.says({ id: request?.id, result });
  }
}

const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);
const newest = (): Socket => Socket.all.at(-1) as Socket;

let port: number;
/** The last known scope. */
let scope: Scope | null;
let backend: Backend;
function linked(kind: Backend['kind'] = 'browser', token: string | null = 'T'): Link {
  backend = {
    kind,
    openEditor: () => Promise.resolve(),
    scope: kind === 'tauri' ? 'admin' : scope,
    address: () =>
      Promise.resolve({
        socket: `ws://127.0.0.1:${port}/acp`,
        ...(kind === 'browser' ? { events: `http://127.0.0.1:${port}/acp` } : {}),
        port,
        token: token && `${token}${port}`,
      }),
  };
  const deaf = new Proxy({} as Firehose, { get: () => () => undefined });
  const link = new Link(backend, deaf, () => undefined);
  link.reconnect();
  return link;
}

async function live(): Promise<Link> {
  const link = linked();
  await settled();
  await greeted();
  expect(link.state.name).toBe('live');
  return link;
}

async function greeted(): Promise<void> {
  newest().opens();
  await settled();
  await newest().answers('initialize', { protocolVersion: 1, _meta: { openagents: { computer: 'mac' } } });
}

/** The HTTP response at the bridge's address; null if it is down. */
let http: ((method: string) => Response) | null;
let page: EventTarget & { visibilityState: string };

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', Socket);
  vi.stubGlobal('addEventListener', () => undefined);
  page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  vi.stubGlobal('document', page);
  http = null;
  vi.stubGlobal('fetch', (_url: string, init: RequestInit) =>
    http === null ? Promise.reject(new TypeError('no route')) : Promise.resolve(http(init.method ?? 'GET')),
  );
  Socket.all = [];
  port = 1;
  scope = null;
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test('a page without a token does not connect', async () => {
  const link = linked('browser', null);
  await settled();
  expect([link.state, Socket.all.length]).toEqual([{ name: 'refused', why: 'no-token' }, 0]);
});

test('a close with 4401 is a refusal without retries', async () => {
  const link = linked();
  await settled();
  newest().opens();
  newest().closes(4401);
  expect(link.state).toEqual({ name: 'refused', why: 'bad-token' });
  await vi.advanceTimersByTimeAsync(120_000);
  expect([link.state.name, Socket.all.length]).toEqual(['refused', 1]);
});

test('a program that does not know the token is retried until the bridge is back', async () => {
  const link = linked();
  const refused = vi.spyOn(backend, 'address').mockRejectedValue(new UnknownToken('no'));
  link.reconnect();
  await settled();
  expect([link.state, Socket.all.length]).toEqual([{ name: 'refused', why: 'bad-token', unproven: true }, 0]);
  refused.mockRestore();
  await vi.advanceTimersByTimeAsync(1000);
  await greeted();
  expect(link.state.name).toBe('live');
});

test.each([1000, 1001, 1006, 1011, 1013])('a close with %i is retried', async (code) => {
  const link = linked();
  await settled();
  newest().opens();
  newest().closes(code);
  expect(link.state.name).toBe('offline');
  await vi.advanceTimersByTimeAsync(1000);
  expect(Socket.all.length).toBe(2);
});

test('the window requests the address on each attempt, even after a refusal', async () => {
  const link = linked('tauri');
  await settled();
  port = 2;
  newest().opens();
  newest().closes(4401);
  expect(link.state.name).toBe('offline');
  await vi.advanceTimersByTimeAsync(1000);
  expect([newest().url, newest().protocols[1]]).toEqual(['ws://127.0.0.1:2/acp', 'openagents.token.T2']);
});

test.each([
  ['an upgrade', () => undefined],
  ['a greeting', () => newest().opens()],
])('%s without an answer times out', async (_name, before) => {
  const link = linked();
  await settled();
  before();
  await vi.advanceTimersByTimeAsync(SILENCE - 1);
  expect(link.state.name).toBe('connecting');
  await vi.advanceTimersByTimeAsync(1);
  expect(link.state.name).toBe('offline');
  await vi.advanceTimersByTimeAsync(1000);
  expect(Socket.all.length).toBe(2);
});

test('a pulse without an answer ends the connection and its request', async () => {
  const link = await live();
  const failed = expect(link.pulse('session/list', {})).rejects.toThrow();
  await vi.advanceTimersByTimeAsync(SILENCE + 1000);
  await failed;
  expect(link.state.name).not.toBe('live');
});

test('a pulse behind a long catch-up does not time out', async () => {
  const link = await live();
  const answer = link.pulse('session/list', {});
  for (let n = 0; n < 5; n += 1) {
    await vi.advanceTimersByTimeAsync(SILENCE - 1000);
    await newest().says({ method: 'session/update', params: { sessionId: 's', update: {} } });
  }
  await newest().answers('session/list', { sessions: [] });
  await expect(answer).resolves.toEqual({ sessions: [] });
  await vi.advanceTimersByTimeAsync(QUIET - 1);
  expect(link.state.name).toBe('live');
});

test('an abandoned socket changes nothing', async () => {
  const link = await live();
  const old = newest();
  link.reconnect();
  await settled();
  newest().opens();
  await settled();
  await newest().answers('initialize', { protocolVersion: 1 });
  old.closes(4401);
  expect(link.state.name).toBe('live');
});

test('a removed device names the computer and does not retry', async () => {
  const link = await live();
  newest().closes(4403, 'This device was removed on mac.');
  expect(link.state).toEqual({ name: 'removed', computer: 'mac' });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(Socket.all.length).toBe(1);
});

test('a page that was too slow reconnects at once', async () => {
  const link = await live();
  newest().closes(4408, 'Attach again from update 7.');
  await settled();
  expect([link.state.name, Socket.all.length]).toEqual(['connecting', 2]);
});

test('a page that becomes visible checks its old socket quickly', async () => {
  const link = await live();
  page.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(SILENCE_ON_RETURN);
  expect(link.state.name).toBe('offline');
});

test('a page that becomes visible keeps a working connection', async () => {
  const link = await live();
  page.dispatchEvent(new Event('visibilitychange'));
  await settled();
  await newest().answers('_openagents/devices/me', {});
  await vi.advanceTimersByTimeAsync(SILENCE_ON_RETURN);
  expect([link.state.name, Socket.all.length]).toEqual(['live', 1]);
});

test('a silent connection gets a pulse', async () => {
  const link = await live();
  await vi.advanceTimersByTimeAsync(QUIET);
  expect(newest().sent.at(-1)?.method).toBe('_openagents/devices/me');
  expect(link.state.name).toBe('live');
  await vi.advanceTimersByTimeAsync(SILENCE + 5_000);
  expect(link.state.name).not.toBe('live');
});

/** Two WebSockets that never open. */
async function unopened(): Promise<void> {
  await settled();
  newest().closes(1006);
  await settled();
  await vi.advanceTimersByTimeAsync(1000);
  newest().closes(1006);
  await settled();
}

test('a reachable bridge without WebSockets switches to events', async () => {
  const posts: string[] = [];
  let says!: ReadableStreamDefaultController<Uint8Array>;
  http = (method) => {
    posts.push(method);
    if (method === 'POST' && posts.filter((sent) => sent === 'POST').length === 1) {
      return new Response(JSON.stringify({ jsonrpc: '2.0', id: 0, result: { protocolVersion: 1 } }), {
        headers: { 'Acp-Connection-Id': 'c1' },
      });
    }
    if (posts.at(-2) === 'POST')
      return new Response(new ReadableStream<Uint8Array>({ start: (own) => void (says = own) }));
    return new Response(null, { status: method === 'POST' ? 202 : 200 });
  };
  const link = linked();
  await unopened();
  await vi.waitFor(() => expect(link.state.name).toBe('live'));
  expect(link.transport).toBe('events');
  const sockets = Socket.all.length;
  says.close();
  await vi.waitFor(() => expect(link.state.name).not.toBe('live'));
  await vi.advanceTimersByTimeAsync(1000);
  expect(Socket.all.length).toBe(sockets);
});

test('a bridge that is down keeps WebSockets', async () => {
  const link = linked();
  await unopened();
  expect(link.state.name).toBe('offline');
  await vi.advanceTimersByTimeAsync(2000);
  expect(Socket.all.length).toBe(3);
});

test('the window never falls back', async () => {
  http = () => new Response(null);
  const link = linked('tauri');
  await unopened();
  expect([link.state.name, link.transport]).toEqual(['offline', 'websocket']);
});

test('a page starts with the view scope, later with the last known one', async () => {
  const first = linked();
  expect([first.access.scope, first.access.known]).toEqual(['view', false]);
  await settled();
  newest().opens();
  await settled();
  await newest().answers('initialize', { protocolVersion: 1, _meta: { openagents: { scope: 'approve' } } });
  expect([first.access.scope, backend.scope]).toEqual(['approve', 'approve']);
  first.allowed({ scope: 'prompt' });
  expect(backend.scope).toBe('prompt');
  scope = 'prompt';
  expect(linked().access).toMatchObject({ scope: 'prompt', known: true });
  expect(linked('tauri').access).toMatchObject({ scope: 'admin', known: true });
});

test.each([
  [0, 250, 500],
  [1, 500, 1000],
  [4, 4000, 8000],
  [6, 10_000, 20_000],
  [5000, 10_000, 20_000],
])('attempt %i waits between %i and %i ms', (attempt, least, most) => {
  expect(pause(attempt, () => 0)).toBe(least);
  expect(pause(attempt, () => 1)).toBe(most);
});
