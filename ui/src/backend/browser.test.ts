import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BrowserBackend } from './browser';

function storage(): Storage {
  const kept = new Map<string, string>();
  return { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value), removeItem: (key: string) => void kept.delete(key) } as unknown as Storage;
}

let location: { hash: string; pathname: string; search: string };
beforeEach(() => {
  location = { hash: '', pathname: '/', search: '' };
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', { replaceState: () => undefined });
  vi.stubGlobal('localStorage', storage());
  vi.stubGlobal('sessionStorage', storage());
});
afterEach(() => vi.unstubAllGlobals());

test('the scope of a paired device is stored and removed with its token', () => {
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

test("the scope of a tab's token does not apply to the next token", () => {
  location.hash = '#token=one';
  const tab = new BrowserBackend();
  tab.scope = 'admin';
  expect(new BrowserBackend().scope).toBeNull();
  location.hash = '';
  sessionStorage.setItem('openagents.scope', 'admin');
  expect(new BrowserBackend().scope).toBe('admin');
  location.hash = '#token=two';
  expect(new BrowserBackend().scope).toBeNull();
});
