import { expect, test } from 'vitest';
import type { PastSession } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { History } from './history.svelte';

const past = (id: string, updatedAt: number, more: object = {}): PastSession => ({
  provider: 'codex',
  agent: 'Codex',
  id,
  title: id,
  cwd: '/w',
  branch: null,
  model: null,
  createdAt: null,
  resume: null,
  updatedAt,
  ...more,
});
const settled = (): Promise<void> => new Promise((after) => setTimeout(after));

/** A history whose bridge is the test: `answers` are those of the list, in order; an error refuses. */
function opened(answers: (object | Error)[], device: object | null = null): { history: History; asked: object[] } {
  const asked: object[] = [];
  const request = (method: string, params: object): Promise<unknown> => {
    if (method.endsWith('/watch')) return Promise.reject(new Error('no such method'));
    asked.push(params);
    const answer = answers.shift() ?? new Error('asked too often');
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  };
  const link = { state: { name: 'live' }, access: { device }, request } as unknown as Link;
  return { history: new History(link), asked };
}

const shown = ({ items }: History): string => items.map(({ id }) => id).join('');

test('later pages start after the last session, and the list knows how far it is complete', async () => {
  const { history, asked } = opened([
    { sessions: [past('a', 9), past('b', 7)], more: true, unread: 0, incomplete: 0 },
    { sessions: [past('c', 3)], more: false, unread: 0, incomplete: 0 },
  ]);
  expect([history.more, history.reached]).toEqual([false, -Infinity]);
  await history.connected();
  expect([shown(history), history.more, history.reached]).toEqual(['ab', true, 7]);
  // One that moves to the top is not where the list goes on.
  history.changed({ number: 1, sessions: [past('b', 10)], removed: [] });
  await history.readMore();
  expect(asked).toEqual([{}, { after: { provider: 'codex', id: 'a' } }]);
  expect([shown(history), history.more, history.reached]).toEqual(['bac', false, -Infinity]);
});

test('a filter continues where the whole list ends', async () => {
  const { history, asked } = opened([
    {
      sessions: [past('a', 9), past('b', 7, { provider: 'gemini' }), past('c', 6)],
      more: true,
      unread: 0,
      incomplete: 0,
    },
    { sessions: [past('d', 2, { provider: 'gemini' })], more: false, unread: 0, incomplete: 0 },
    { sessions: [past('e', 5)], more: false, unread: 0, incomplete: 0 },
  ]);
  await history.connected();
  history.narrow({ provider: 'gemini' });
  expect([history.more, history.reached]).toEqual([true, 6]);
  await history.readMore();
  expect(asked.at(-1)).toEqual({ after: { provider: 'gemini', id: 'b' }, filter: { provider: 'gemini' } });
  expect([history.more, history.reached]).toEqual([false, -Infinity]);
  history.narrow(null);
  expect([history.more, history.reached]).toEqual([true, 6]);
  await history.readMore();
  expect(asked.at(-1)).toEqual({ after: { provider: 'codex', id: 'c' } });
  expect(shown(history)).toBe('abced');
  history.narrow({ provider: 'gemini' });
  expect(history.more).toBe(false);
});

test('changes apply at once; too many reload the list', async () => {
  const { history } = opened([
    { sessions: [past('a', 9), past('b', 7)], more: false, unread: 0, incomplete: 0 },
    { sessions: [past('z', 12)], more: false, unread: 0, incomplete: 0 },
  ]);
  await history.connected();
  history.changed({ number: 2, sessions: [past('c', 8), past('b', 11)], removed: [{ provider: 'codex', id: 'a' }] });
  expect(shown(history)).toBe('bc');
  history.changed({ number: 9, sessions: [], removed: [] });
  await settled();
  expect(shown(history)).toBe('z');
});

test('missed changes are detected by their number', async () => {
  const { history, asked } = opened([
    { sessions: [past('a', 9)], more: false, unread: 0, incomplete: 0 },
    { sessions: [past('z', 12)], more: false, unread: 0, incomplete: 0 },
  ]);
  await history.connected();
  history.changed({ number: 40, sessions: [past('a', 10)], removed: [] });
  history.changed({ number: 41, sessions: [past('a', 11), past('b', 10)], removed: [] });
  expect([shown(history), asked.length]).toEqual(['ab', 1]);
  history.changed({ number: 90, sessions: [past('c', 13)], removed: [] });
  await settled();
  expect([shown(history), asked.length]).toEqual(['cz', 2]);
});

test('pinned sessions of any age follow the first page', async () => {
  const { history, asked } = opened([
    { sessions: [past('a', 9), past('b', 7), past('p', 1, { pinned: true })], more: true, unread: 0, incomplete: 0 },
    { sessions: [past('c', 3), past('p', 1, { pinned: true })], more: false, unread: 0, incomplete: 0 },
  ]);
  await history.connected();
  expect([shown(history), history.reached]).toEqual(['abp', 7]);
  await history.readMore();
  expect(asked.at(-1)).toEqual({ after: { provider: 'codex', id: 'b' } });
  expect([shown(history), history.reached]).toEqual(['abcp', -Infinity]);
});

test('a change that overtakes a page wins', async () => {
  const { history } = opened([{ sessions: [past('a', 9), past('b', 7)], more: false, unread: 0, incomplete: 0 }]);
  const reading = history.connected();
  history.changed({ number: 1, sessions: [past('b', 8, { title: 'new' })], removed: [{ provider: 'codex', id: 'a' }] });
  await reading;
  expect(history.items.map(({ title }) => title)).toEqual(['new']);
});

test('a gap after a lost connection is loaded again', async () => {
  const { history } = opened([
    { sessions: [past('a', 9)], more: false, unread: 0, incomplete: 0 },
    { sessions: [past('z', 30), past('y', 20)], more: true, unread: 0, incomplete: 0 },
    { sessions: [past('x', 15), past('a', 9)], more: false, unread: 0, incomplete: 0 },
  ]);
  await history.connected();
  await history.connected();
  expect([shown(history), history.more, history.reached]).toEqual(['zy', true, 20]);
  await history.readMore();
  expect([shown(history), history.more]).toEqual(['zyxa', false]);
});

test('a device without permission gets an empty list and no error', async () => {
  const { history } = opened([new Error('Other agents’ sessions are shown on their own computer only.')], {
    id: 'phone',
  });
  await history.connected();
  expect([history.allowed, history.more, shown(history)]).toEqual([false, false, '']);
});

test('a device that loses permission drops the list', async () => {
  const { history } = opened(
    [{ sessions: [past('a', 9)], more: false, unread: 0, incomplete: 0 }, new Error('no longer')],
    { id: 'phone' },
  );
  await history.connected();
  expect(shown(history)).toBe('a');
  history.changed(null);
  await settled();
  expect([history.allowed, shown(history)]).toEqual([false, '']);
});
