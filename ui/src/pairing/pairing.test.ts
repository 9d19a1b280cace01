import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Refusal } from './pairing-wire';
import { codeTyped, deviceName, isWhole, refusedWords } from './pairing-words';
import { Pairing } from './pairing.svelte';

test.each([
  ['', '', false],
  ['k7qx', 'K7QX', false],
  ['k7qx2', 'K7QX-2', false],
  ['k7qx2m9p', 'K7QX-2M9P', true],
  [' K7QX – 2M9P ', 'K7QX-2M9P', true],
  ['o0iI-lL12', '0011-1112', true],
  ['uU!?', '', false],
  ['K7QX-2M9P-more', 'K7QX-2M9P', true],
])('the input %j is shown as %j', (typed, shown, whole) => {
  expect([codeTyped(typed), isWhole(typed)]).toEqual([shown, whole]);
});

const SAFARI = 'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
test.each([
  [`Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) ${SAFARI}`, 5, 'iPhone (Safari)'],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${SAFARI}`, 0, 'Mac (Safari)'],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${SAFARI}`, 5, 'iPad (Safari)'],
  [
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
    5,
    'Android phone (Chrome)',
  ],
  [
    'Mozilla/5.0 (Linux; Android 14; SM-X900) AppleWebKit/537.36 SamsungBrowser/25.0 Chrome/121.0.0.0 Safari/537.36',
    5,
    'Android tablet (Samsung Internet)',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0',
    0,
    'Windows PC (Edge)',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 0, 'Linux PC (Firefox)'],
  ['curl/8', 0, 'Device'],
])('%s', (userAgent, touchPoints, name) => {
  expect(deviceName(userAgent, touchPoints)).toBe(name);
});

test.each([
  [new Refusal('wrong_code', 'no', 0), /Check it/],
  [new Refusal('expired', 'no', 0), /expired.*new one/],
  [new Refusal('used', 'no', 0), /already.*new one/],
  [new Refusal('slow_down', 'no', 2_100), /Wait 3 seconds/],
  [new Refusal('slow_down', 'no', 0), /Wait a second/],
  [new Refusal('else', 'three devices wait already', 0), /^Three devices wait already\.$/],
  [new TypeError('Failed to fetch'), /can't be reached.*same network/],
])('%s', (error, words) => {
  expect(refusedWords(error)).toMatch(words);
});

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
