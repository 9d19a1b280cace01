import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BrowserBackend } from './browser';

function storage(): Storage {
  const kept = new Map<string, string>();
  return { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value), removeItem: (key: string) => void kept.delete(key) } as unknown as Storage;
}

let place: { hash: string; pathname: string; search: string };
beforeEach(() => {
  place = { hash: '', pathname: '/', search: '' };
  vi.stubGlobal('location', place);
  vi.stubGlobal('history', { replaceState: () => undefined });
  vi.stubGlobal('localStorage', storage());
  vi.stubGlobal('sessionStorage', storage());
});
afterEach(() => vi.unstubAllGlobals());

test('what a paired device may do is kept with its token, and goes with it', () => {
  const first = new BrowserBackend();
  expect(first.scope).toBeNull();
  first.pairedWith('T');
  first.scope = 'approve';
  const again = new BrowserBackend();
  expect([again.scope, again.paired]).toEqual(['approve', true]);
  again.pairedWith('U');
  expect(again.scope).toBeNull();
  again.scope = 'view';
  again.unpaired();
  expect(new BrowserBackend().scope).toBeNull();
});

test('what the token of a tab may do says nothing of the next one', () => {
  place.hash = '#token=one';
  const tab = new BrowserBackend();
  tab.scope = 'admin';
  expect(new BrowserBackend().scope).toBeNull();
  place.hash = '';
  sessionStorage.setItem('openagents.scope', 'admin');
  expect(new BrowserBackend().scope).toBe('admin');
  place.hash = '#token=two';
  expect(new BrowserBackend().scope).toBeNull();
});
