import { expect, test } from 'vitest';
import { reachOf, serverOf } from './tool-servers';

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
