import { expect, test } from 'vitest';
import type { Link } from '../connection/link.svelte';
import type { Frame } from '../connection/wire';
import { filtered, Frames, named, who } from './frames.svelte';

const numbered = (n: number): Frame => ({
  n,
  ts: n,
  connection: 'c',
  endpoint: 'acp',
  client: '',
  direction: 'in',
  method: 'm',
  bytes: 1,
  json: '{}',
});

function frames(answer: Frame[]): { frames: Frames; asked: object[]; shown: () => number[] } {
  const asked: object[] = [];
  const request = (_method: string, params: object): Promise<unknown> => {
    asked.push(params);
    return Promise.resolve({ frames: answer });
  };
  const made = new Frames({ request } as unknown as Link);
  return { frames: made, asked, shown: () => made.shown.map(({ n }) => n) };
}

/** Regression: once the debug view had been opened, every frame of every connection came for ever. */
test('frames stream until the view is closed', async () => {
  const { frames: one, asked, shown } = frames([numbered(1)]);
  await one.follow();
  one.take([numbered(2)]);
  expect(shown()).toEqual([1, 2]);
  one.leave();
  one.forget();
  expect([asked, shown()]).toEqual([[{}, { watch: false }], []]);
});

test('shown frames stay while the view is hidden', async () => {
  const { frames: one, shown } = frames([numbered(2), numbered(3)]);
  one.take([numbered(1), numbered(2)]);
  one.leave();
  await one.follow();
  expect(shown()).toEqual([1, 2, 3]);
});

let n = 0;
function frame(direction: 'in' | 'out', json: object, connection = 'c1'): Frame {
  const { method, id } = json as { method?: string; id?: string | number };
  n += 1;
  return {
    n,
    ts: 0,
    connection,
    endpoint: 'acp',
    client: '',
    direction,
    bytes: 1,
    json: JSON.stringify(json),
    ...(method === undefined ? {} : { method }),
    ...(id === undefined ? {} : { id }),
  };
}

const NAMED = named([
  frame('in', { jsonrpc: '2.0', id: 1, method: 'session/list' }),
  frame('in', { jsonrpc: '2.0', id: 1, method: 'initialize' }, 'c2'),
  frame('out', { jsonrpc: '2.0', id: 1, result: { error: 'inside' } }),
  frame('out', { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'No' } }, 'c2'),
  frame('out', { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'Alpha' } }),
  frame('in', { jsonrpc: '2.0', id: 9, result: {} }),
]);

test('an answer is named after the request on its connection', () => {
  expect(NAMED.map((f) => [f.kind, f.name])).toEqual([
    ['request', 'session/list'],
    ['request', 'initialize'],
    ['result', 'session/list'],
    ['error', 'initialize'],
    ['notification', 'session/update'],
    ['result', ''],
  ]);
});

test.each([
  ['', 6],
  ['alpha', 1],
  ['session out', 2],
  ['error', 2],
  ['initialize c2', 2],
  ['nothing like that', 0],
])('the filter %j keeps %i', (filter, expected) => expect(filtered(NAMED, filter)).toHaveLength(expected));

test('a connection without a name shows its endpoint', () => {
  expect(who({ ...NAMED[0], connection: '5f0c2a1e-1234', client: '' } as Frame)).toBe('acp 5f0c2a1e');
});
