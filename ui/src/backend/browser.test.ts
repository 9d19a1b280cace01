import { createHash, createHmac } from 'node:crypto';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { BrowserBackend } from './browser';
import { UnknownToken } from './proof';

function storage(): Storage {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  } as unknown as Storage;
}

let location: {
  hash: string;
  pathname: string;
  search: string;
  protocol: string;
  host: string;
  port: string;
  origin: string;
};
beforeEach(() => {
  location = {
    hash: '',
    pathname: '/',
    search: '',
    protocol: 'http:',
    host: '127.0.0.1:9099',
    port: '9099',
    origin: 'http://127.0.0.1:9099',
  };
  vi.stubGlobal('location', location);
  vi.stubGlobal('history', { replaceState: () => undefined });
  vi.stubGlobal('localStorage', storage());
  vi.stubGlobal('sessionStorage', storage());
});
afterEach(() => vi.unstubAllGlobals());

/** Requests to the program at the page's address: path, headers and body. */
let heard: { path: string; text: string }[];

/** Answers as the bridge that knows `tokens`, on `port`, in its `start`; null as another program. */
function listens(tokens: string[] | null, port = 9099, start = 'first'): void {
  heard = [];
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => Promise.resolve(answer(path, init)));
  function answer(path: string, init: RequestInit): Response {
    const body = JSON.parse(init.body as string) as { token: string; nonce: string };
    heard.push({ path, text: `${JSON.stringify(init.headers)} ${init.body as string}` });
    if (tokens === null) return Response.json({ port: 9099, proof: 'ab'.repeat(32), token: 'mine' });
    if (path === '/tab') return Response.json({ token: `${start} tab`, reload: `${start} reload` });
    for (const token of tokens) {
      const mac = (message: string): string =>
        createHmac('sha256', createHash('sha256').update(token).digest()).update(message).digest('hex');
      if (mac('openagents token') === body.token)
        return Response.json({ port, proof: mac(`openagents bridge ${body.nonce} ${port}`) });
    }
    return Response.json({});
  }
}

/** What could be a token in the tab's storage. */
const kept = (): string[] =>
  ['token', 'tab', 'reload'].flatMap((key) => sessionStorage.getItem(`openagents.${key}`) ?? []);
const leaks = (token: string): boolean => heard.some(({ text }) => text.includes(token));

test('the scope of a paired device is stored and removed with its token', () => {
  location.protocol = 'https:';
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
  sessionStorage.setItem('openagents.reload', 'R');
  expect(new BrowserBackend().scope).toBe('admin');
  location.hash = '#token=two';
  expect(new BrowserBackend().scope).toBeNull();
});

test('a tab keeps its token in memory and stores one for a reload', async () => {
  location.hash = '#token=start';
  listens(['start', 'first tab', 'first reload']);
  const tab = new BrowserBackend();
  expect(sessionStorage.getItem('openagents.reload')).toBeNull();
  expect((await tab.address()).token).toBe('first tab');
  expect(heard.map(({ path }) => path)).toEqual(['/proof', '/tab']);
  expect(kept()).toEqual(['first reload']);
  location.hash = '';
  expect((await new BrowserBackend().address()).token).toBe('first tab');
  // After a restart, this page goes on, and then may be reloaded again.
  listens(['first tab', 'second tab', 'second reload'], 9099, 'second');
  await expect(new BrowserBackend().address()).rejects.toThrow(UnknownToken);
  expect((await tab.address()).token).toBe('second tab');
  expect(kept()).toEqual(['second reload']);
  expect((await new BrowserBackend().address()).token).toBe('second tab');
});

test.each(['start', 'reload', 'device'])(
  'another program in place of the bridge never receives the token: %s',
  async (kind) => {
    if (kind === 'start') location.hash = '#token=secret';
    if (kind === 'reload') sessionStorage.setItem('openagents.reload', 'secret');
    const page = new BrowserBackend();
    if (kind === 'device') page.pairedWith('secret');
    listens(null);
    await expect(page.address()).rejects.toThrow('Another program');
    expect(leaks('secret')).toBe(false);
    // It says that it does not know the token, or passes the question on to the bridge on its new port.
    listens([]);
    await expect(page.address()).rejects.toThrow(UnknownToken);
    expect(leaks('secret')).toBe(false);
    listens(['secret']);
    const { token } = await page.address();
    listens([token ?? '', 'secret'], 9100);
    await expect(page.address()).rejects.toThrow('Another program');
    expect(leaks(token ?? '')).toBe(false);
    // The bridge is back.
    listens([token ?? '']);
    expect((await page.address()).token).toBe(token);
  },
);

test('without TLS no device token is stored, and old ones are deleted', () => {
  localStorage.setItem('openagents.device', 'former');
  const page = new BrowserBackend();
  expect([page.paired, localStorage.getItem('openagents.device')]).toEqual([false, null]);
  page.pairedWith('secret');
  expect([page.paired, localStorage.getItem('openagents.device')]).toEqual([true, null]);
  expect(new BrowserBackend().paired).toBe(false);
});

test('an encrypted page needs no proof', async () => {
  Object.assign(location, { protocol: 'https:', host: 'mac.local:9443', port: '9443' });
  localStorage.setItem('openagents.device', 'secret');
  listens([]);
  expect((await new BrowserBackend().address()).token).toBe('secret');
  expect(heard).toEqual([]);
});

test('pairing again switches to the bridge of the new token', async () => {
  const page = new BrowserBackend();
  page.pairedWith('one');
  listens(['one']);
  expect((await page.address()).token).toBe('one');
  page.pairedWith('two');
  listens(['two'], 9100);
  expect((await page.address()).token).toBe('two');
  expect(page.paired).toBe(true);
});
