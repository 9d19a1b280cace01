import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Pairing } from './pairing.svelte';

const CLAIM = { request: 'secret', compare: '482 913', computer: 'mac', expiresAt: 1 };
const ALLOWED = { state: 'allowed', token: 'T', device: { id: 'd', name: 'Phone' }, scope: 'approve' };

/** The requests, and the test's answers to them. */
let asked: { path: string; answers: (response: Response) => void }[];
let page: EventTarget & { visibilityState: string };
let paired: string[];

beforeEach(() => {
  vi.useFakeTimers();
  asked = [];
  paired = [];
  page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const kept = new Map<string, string>();
  vi.stubGlobal('document', page);
  vi.stubGlobal('location', { origin: 'https://mac.local:9443' });
  vi.stubGlobal('addEventListener', () => undefined);
  vi.stubGlobal('sessionStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
  vi.stubGlobal(
    'fetch',
    (url: URL, { signal }: { signal: AbortSignal }) =>
      new Promise<Response>((answers, breaks) => {
        asked.push({ path: url.pathname, answers });
        signal.addEventListener('abort', () => breaks(new DOMException('aborted', 'AbortError')));
      }),
  );
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function answers(response: Response): Promise<void> {
  asked.at(-1)?.answers(response);
  await vi.advanceTimersByTimeAsync(0);
}

async function waits(): Promise<Pairing> {
  const pairing = new Pairing((token) => paired.push(token));
  void pairing.send('Phone');
  await answers(Response.json(CLAIM));
  expect(asked.map(({ path }) => path)).toEqual(['/pair', '/pair/wait']);
  return pairing;
}

test('a poll lost while the phone slept is repeated at once on wake-up', async () => {
  const pairing = await waits();
  page.visibilityState = 'hidden';
  page.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.length).toBe(2);
  page.visibilityState = 'visible';
  page.dispatchEvent(new Event('visibilitychange'));
  await vi.advanceTimersByTimeAsync(0);
  expect(asked.length).toBe(3);
  await answers(Response.json(ALLOWED));
  expect([paired, pairing.claimed, pairing.problem]).toEqual([['T'], null, null]);
});

test('a truncated answer is not a refusal: the poll is repeated', async () => {
  const pairing = await waits();
  await answers(new Response('{"state":"allo'));
  expect([pairing.claimed?.compare, pairing.away, pairing.problem]).toEqual(['482 913', true, null]);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(asked.length).toBe(3);
  await answers(Response.json(ALLOWED));
  expect(paired).toEqual(['T']);
});

test("a page that cannot reach its own address knows the computer's others", () => {
  const pairing = new Pairing(() => undefined);
  pairing.begin({
    code: 'K7QX-2M9P',
    fingerprint: 'ABCD',
    addresses: ['https://192.168.1.5:9443', 'https://mac.local:9443'],
  });
  expect([pairing.fingerprint, pairing.elsewhere]).toEqual([
    'ABCD',
    [
      {
        address: 'https://192.168.1.5:9443',
        url: 'https://192.168.1.5:9443/#pair=K7QX-2M9P&fingerprint=ABCD&addresses=mac.local:9443',
      },
    ],
  ]);
});
