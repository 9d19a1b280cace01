import { RequestError } from '@agentclientprotocol/sdk';
import { expect, test, vi } from 'vitest';
import type { Link } from '../connection/link.svelte';
import type { SessionInfo } from '../connection/wire';
import { Sessions } from './sessions.svelte';

interface Asked {
  method: string;
  params: { sessionId?: string };
  answer: (result: unknown) => void;
  refuse: (error: Error) => void;
}

/** A session list whose peer is the test. */
function listed(): {
  sessions: Sessions;
  asked: Asked[];
  kept: { forget: ReturnType<typeof vi.fn>; keepOnly: ReturnType<typeof vi.fn> };
} {
  const asked: Asked[] = [];
  const request = (method: string, params: object): Promise<unknown> =>
    new Promise((answer, refuse) => asked.push({ method, params, answer, refuse }));
  const link = { state: { name: 'live' }, request, notify: () => undefined } as unknown as Link;
  const kept = { forget: vi.fn(), keepOnly: vi.fn() };
  const sessions = new Sessions(link);
  sessions.keeper = kept;
  return { sessions, asked, kept };
}

const settled = (): Promise<void> => new Promise((after) => setTimeout(after));
const row = (sessionId: string, meta: object = {}): SessionInfo => ({
  sessionId,
  cwd: '/w',
  title: sessionId,
  _meta: { openagents: meta },
});
const named = (asked: readonly Asked[], method: string): (string | undefined)[] =>
  asked.filter((one) => one.method === method).map(({ params }) => params.sessionId);

test('sessions with pending approvals are followed first, without limit, before those that only run', () => {
  const { sessions, asked } = listed();
  const running = Array.from({ length: 12 }, (_, at) => row(`runs-${at}`, { running: true }));
  const waiting = Array.from({ length: 10 }, (_, at) => row(`waits-${at}`, { running: true, waiting: 1 }));
  sessions.changed({ sessions: [...running, ...waiting, row('rests')], removed: [] });
  const attached = named(asked, '_openagents/attach');
  expect(attached.slice(0, 10)).toEqual(waiting.map(({ sessionId }) => sessionId));
  expect(attached.slice(10)).toEqual(running.slice(0, 8).map(({ sessionId }) => sessionId));
});

test('attaching and running sessions are kept; idle ones are dropped and detached', async () => {
  const { sessions, asked } = listed();
  sessions.changed({ sessions: Array.from({ length: 8 }, (_, at) => row(`s${at}`, { running: true })), removed: [] });
  sessions.changed({ sessions: [row('asks', { running: true, waiting: 1 })], removed: [] });
  await settled();
  expect(named(asked, '_openagents/detach')).toEqual([]);
  for (const one of asked)
    one.answer({
      sessionId: one.params.sessionId,
      seq: 0,
      running: true,
      mode: 'default_mode',
      approvals: [],
      queue: [],
    });
  await settled();
  sessions.show('open');
  expect(named(asked, '_openagents/detach')).toEqual([]);
  sessions.changed({ sessions: [row('s0'), row('s1'), row('s2')], removed: [] });
  sessions.show('other');
  await settled();
  expect(named(asked, '_openagents/detach')).toEqual(['s0', 's1', 's2']);
});

test('a question counts in the list before its session is loaded', () => {
  const { sessions } = listed();
  sessions.changed({ sessions: [row('s', { running: true, waiting: 2 })], removed: [] });
  expect(sessions.waitingIn('s')).toBe(2);
});

test('a session deleted while this page was away is dropped by the list and by its attach', async () => {
  const { sessions, asked, kept } = listed();
  sessions.connected();
  asked[0]?.answer({ sessions: [row('here')] });
  await settled();
  expect(kept.keepOnly.mock.calls).toEqual([[new Set(['here'])]]);
  sessions.show('gone');
  asked.at(-1)?.refuse(new RequestError(-32002, 'There is no session gone.'));
  await settled();
  expect(kept.forget.mock.calls).toEqual([[['gone']]]);
  expect(sessions.open?.problem).toBe('There is no session gone.');
});

test('an incomplete list does not remove stored sessions', async () => {
  const { sessions, asked, kept } = listed();
  sessions.connected();
  for (let page = 0; page < 5; page += 1) {
    asked[page]?.answer({ sessions: [row(`s${page}`)], nextCursor: `${page}` });
    await settled();
  }
  expect([sessions.list.items.length, kept.keepOnly.mock.calls.length]).toEqual([5, 0]);
});

/** Regression: sessions after the 250th could not be reached. */
test('older sessions load on demand and stay in the list', async () => {
  const { sessions, asked } = listed();
  const answer = async (...pages: [string, string | null][]): Promise<void> => {
    for (const [id, nextCursor] of pages) {
      asked.at(-1)?.answer({ sessions: [row(id)], nextCursor });
      await settled();
    }
  };
  const ids = (): string[] => sessions.list.items.map(({ id }) => id);
  sessions.connected();
  await answer(['s1', '1'], ['s2', '2'], ['s3', '3'], ['s4', '4'], ['s5', '5']);
  expect([ids(), sessions.list.more]).toEqual([['s1', 's2', 's3', 's4', 's5'], true]);

  void sessions.list.readMore();
  void sessions.list.readMore();
  expect(asked.slice(5).map(({ params }) => params)).toEqual([{ cursor: '5' }]);
  await answer(['s6', '6']);
  // One that has just changed is in the list already.
  sessions.changed({ sessions: [row('s7')], removed: [] });
  void sessions.list.readMore();
  await answer(['s7', null]);
  expect([ids().toSorted(), sessions.list.more]).toEqual([['s1', 's2', 's3', 's4', 's5', 's6', 's7'], false]);
  await sessions.list.readMore();
  expect(asked.length).toBe(7);

  sessions.connected();
  await answer(['s1', '1'], ['s2', '2'], ['s3', '3'], ['s4', '4'], ['s5', '5'], ['s6', '6'], ['s7', null]);
  expect(ids().length).toBe(7);
});

/** Regression: an empty session stayed when its agent could not be chosen. */
test('a session whose agent cannot be chosen is deleted', async () => {
  const { sessions, asked } = listed();
  const begun = sessions.ask('/w', 'Hello', 'codex', {});
  asked.at(-1)?.answer({ sessionId: 'new' });
  await settled();
  asked.at(-1)?.refuse(new RequestError(-32602, 'Codex is not installed.'));
  await settled();
  expect(asked.at(-1)).toMatchObject({ method: 'session/delete', params: { sessionId: 'new' } });
  asked.at(-1)?.answer({});
  expect([await begun, sessions.problem, sessions.open]).toEqual([false, 'Codex is not installed.', null]);
});

test('a page that missed changes reloads the list', async () => {
  const { sessions, asked } = listed();
  sessions.changed({ sessions: [], removed: [], reset: true });
  asked.at(-1)?.answer({ sessions: [row('new')] });
  await settled();
  expect(sessions.list.items.map(({ id }) => id)).toEqual(['new']);
});
