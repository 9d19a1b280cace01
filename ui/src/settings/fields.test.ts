import { expect, test } from 'vitest';
import { idOf, pairs, reachOf, serverOf, shownNumber, typedNumber, words } from './fields';

test.each([
  ['My Agent 2', 'my-agent-2'],
  ['  Żółw & Söhne ', 'zo-w-sohne'],
  ['qwen3.coder', 'qwen3.coder'],
  ['…', ''],
  ['x'.repeat(80), 'x'.repeat(64)],
])('%s has the id %s', (name, id) => expect(idOf(name)).toBe(id));

test.each([
  ['/a/b --acp', ['/a/b', '--acp']],
  [`"/a b/c" 'd e' f\\ g "h"i`, ['/a b/c', 'd e', 'f g', 'hi']],
  ['""', ['']],
  ['  ', []],
  ['a "open', ['a', 'open']],
])('%s is %j', (line, expected) => expect(words(line)).toEqual(expected));

test('pairs without a name are left out', () => {
  expect(pairs('A=1 B="two words" C= =x D')).toEqual({ A: '1', B: 'two words', C: '' });
});

test.each([
  [0.699999988079071, '0.7'],
  [2, '2'],
  [null, ''],
])('%s is shown as %j', (value, text) => expect(shownNumber(value)).toBe(text));

test.each([
  ['0.7', 0.7],
  [' 0,7 ', 0.7],
  ['7', 7],
  ['', undefined],
  ['-', undefined],
  ['1e999', undefined],
])('%j means %s', (text, value) => expect(typedNumber(text)).toBe(value));

test('a command and an address become servers', () => {
  const command = serverOf('db', ['db-mcp', '--read-only'], ['DB_URL']);
  expect(command).toEqual({
    name: 'db',
    kind: 'command',
    command: 'db-mcp',
    args: ['--read-only'],
    variables: ['DB_URL'],
  });
  expect(reachOf(command)).toBe('db-mcp --read-only');
  const http = serverOf('docs', ['https://docs.example/mcp'], ['DOCS_AUTH', 'X-Team=TEAM']);
  expect(http).toEqual({
    name: 'docs',
    kind: 'http',
    url: 'https://docs.example/mcp',
    headers: { Authorization: 'DOCS_AUTH', 'X-Team': 'TEAM' },
  });
  expect(reachOf(http)).toBe('https://docs.example/mcp');
  expect(reachOf({ name: 'openagents', kind: 'openagents' })).toBe('');
});
