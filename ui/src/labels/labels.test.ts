import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Link } from '../connection/link.svelte';
import type { SessionItem } from '../session/session-list.svelte';
import { Labels } from './labels.svelte';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const OURS = { key: 's', id: 's', provider: null };

function opened(refuse: Error | null = null): {
  labels: Labels;
  item: () => SessionItem;
  asked: unknown[];
  removed: string[];
} {
  let item: SessionItem = {
    id: 's',
    title: 'Old',
    cwd: '/w',
    updatedAt: 1,
    running: false,
    waiting: 0,
    pinned: false,
    archived: false,
  };
  const asked: unknown[] = [];
  const removed: string[] = [];
  const request = (method: string, params: object): Promise<unknown> => {
    asked.push([method, params]);
    return refuse === null ? Promise.resolve({}) : Promise.reject(refuse);
  };
  const labels = new Labels({ request } as unknown as Link, {
    patchOwn: (_, change) => {
      const before = item;
      item = { ...item, ...change };
      return before;
    },
    patchPast: () => undefined,
    remove: (id) => {
      removed.push(id);
      return refuse === null ? Promise.resolve() : Promise.reject(refuse);
    },
  });
  return { labels, item: () => item, asked, removed };
}

const METHOD = '_openagents/sessions/label';

test('a label change shows at once and stays once accepted', async () => {
  const { labels, item, asked } = opened();
  const done = labels.rename(OURS, ' New ');
  expect(item().title).toBe('New');
  await done;
  await labels.pin(OURS, true);
  expect([item().title, item().pinned, labels.messages]).toEqual(['New', true, []]);
  await labels.rename(OURS, ' ');
  expect(asked).toEqual([
    [METHOD, { id: 's', title: 'New' }],
    [METHOD, { id: 's', pinned: true }],
    [METHOD, { id: 's', title: null }],
  ]);
});

test('a refused label change is reverted with the reason', async () => {
  const { labels, item } = opened(new Error('no such session'));
  await labels.pin(OURS, true);
  expect([item().pinned, labels.messages.map(({ text }) => text)]).toEqual([false, ['Not pinned: No such session.']]);
});

test("another agent's session is named with its provider", async () => {
  const { labels, asked } = opened();
  await labels.pin({ key: 'codex s', id: 's', provider: 'codex' }, false);
  expect(asked).toEqual([[METHOD, { provider: 'codex', id: 's', pinned: false }]]);
});

test('archiving can be undone', async () => {
  const { labels, item } = opened();
  labels.archive(OURS, true);
  expect([item().archived, labels.messages[0]?.text]).toEqual([true, 'Session archived.']);
  labels.messages[0]?.undo?.();
  expect([item().archived, labels.messages]).toEqual([false, []]);
  await vi.advanceTimersByTimeAsync(8_000);
});

test('a session is deleted when Undo expires', async () => {
  const { labels, removed } = opened();
  labels.delete(OURS);
  expect([labels.hidden.has('s'), removed]).toEqual([true, []]);
  labels.messages[0]?.undo?.();
  await vi.advanceTimersByTimeAsync(9_000);
  expect([labels.hidden.has('s'), removed]).toEqual([false, []]);
  labels.delete(OURS);
  await vi.advanceTimersByTimeAsync(7_900);
  expect([labels.messages.length, removed]).toEqual([1, []]);
  await vi.advanceTimersByTimeAsync(200);
  expect([labels.messages, removed]).toEqual([[], ['s']]);
});

test('a session that cannot be deleted is listed again', async () => {
  const { labels } = opened(new Error('disk full'));
  labels.delete(OURS);
  await vi.advanceTimersByTimeAsync(8_000);
  expect([labels.hidden.size, labels.messages.map(({ text }) => text)]).toEqual([0, ['Not deleted: Disk full.']]);
});
