import { beforeEach, expect, test, vi } from 'vitest';
import { cut, Seen } from './seen.svelte';

const stored = new Map<string, string>();
beforeEach(() => {
  stored.clear();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
  vi.stubGlobal('addEventListener', () => undefined);
});

test('sessions changed before the first start are read, later ones unread until opened', () => {
  const seen = new Seen();
  const later = Date.now() + 1000;
  expect(seen.isUnread({ key: 'a', updatedAt: Date.now() - 1000 })).toBe(false);
  expect(seen.isUnread({ key: 'a', updatedAt: later })).toBe(true);
  seen.mark({ key: 'a', updatedAt: later });
  expect([
    seen.isUnread({ key: 'a', updatedAt: later }),
    seen.isUnread({ key: 'b', updatedAt: later }),
    seen.isUnread({ key: 'a', updatedAt: later + 1 }),
  ]).toEqual([false, true, true]);
  expect(new Seen().isUnread({ key: 'a', updatedAt: later })).toBe(false);
});

test('a broken entry is replaced', () => {
  stored.set('openagents.seen', '{"since":');
  expect(new Seen().isUnread({ key: 'a', updatedAt: Date.now() - 1000 })).toBe(false);
});

test('the oldest entries are dropped and stay read', () => {
  expect(cut({ since: 1, seen: { a: 5, b: 9, c: 7, d: 1 } }, 2)).toEqual({ since: 5, seen: { b: 9, c: 7 } });
  expect(cut({ since: 1, seen: { a: 5 } }, 2)).toEqual({ since: 1, seen: { a: 5 } });
});
