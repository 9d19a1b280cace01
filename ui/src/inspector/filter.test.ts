import { expect, test } from 'vitest';
import type { Frame } from '../connection/wire';
import { filtered, named, who } from './filter';

let n = 0;
function frame(direction: 'in' | 'out', json: object, connection = 'c1'): Frame {
  const { method, id } = json as { method?: string; id?: string | number };
  n += 1;
  return {
    n,
    ts: 0,
    connection,
    door: 'acp',
    client: '',
    direction,
    bytes: 1,
    json: JSON.stringify(json),
    ...(method === undefined ? {} : { method }),
    ...(id === undefined ? {} : { id }),
  };
}

const frames = named([
  frame('in', { jsonrpc: '2.0', id: 1, method: 'session/list' }),
  frame('in', { jsonrpc: '2.0', id: 1, method: 'initialize' }, 'c2'),
  frame('out', { jsonrpc: '2.0', id: 1, result: { error: 'inside' } }),
  frame('out', { jsonrpc: '2.0', id: 1, error: { code: -32000, message: 'No' } }, 'c2'),
  frame('out', { jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'Alpha' } }),
  frame('in', { jsonrpc: '2.0', id: 9, result: {} }),
]);

test('an answer is named after the request on its connection', () => {
  expect(frames.map((f) => [f.kind, f.name])).toEqual([
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
])('the filter %j keeps %i', (filter, expected) => expect(filtered(frames, filter)).toHaveLength(expected));

test('a connection without a name shows its endpoint', () => {
  expect(who({ ...frames[0], connection: '5f0c2a1e-1234', client: null } as Frame)).toBe('acp 5f0c2a1e');
});
