import { expect, test } from 'vitest';
import type { Finding, PastSession } from '../connection/wire';
import { mentionable } from './mentionable';
import type { MessageRow, Row } from './rows';
import type { SessionItem } from './session-list.svelte';

const finding = (symbol: string, path: string, start: number): Finding => ({
  kind: 'definition',
  start,
  end: start,
  excerpt: '',
  symbol,
  score: 1,
  why: '',
  path,
});
const rows: Row[] = [
  {
    kind: 'message',
    key: 'm',
    seqs: [1],
    ts: 0,
    text: '',
    messageId: null,
    failed: false,
    late: false,
    findings: { findings: [finding('parse', 'src/parse.rs', 3), finding('print', 'src/print.rs', 9)] },
  } satisfies MessageRow,
];
const own = [
  { id: '1', title: 'Fix the parser' },
  { id: '2', title: 'Another' },
] as SessionItem[];
const past = [{ id: '3', title: null, agent: 'Codex', provider: 'codex' }] as unknown as PastSession[];
const nothing = { files: [], symbols: [] };

test('places of the last answer come first, and once', () => {
  const found = {
    files: ['src/parse.rs'],
    symbols: [
      { name: 'parse', path: 'src/parse.rs', line: 3 },
      { name: 'Parser', path: 'src/parse.rs', line: 7 },
    ],
  };
  expect(mentionable('pars', rows, found, own, past)).toEqual([
    { kind: 'place', name: 'parse', path: 'src/parse.rs', line: 3 },
    { kind: 'file', path: 'src/parse.rs' },
    { kind: 'place', name: 'Parser', path: 'src/parse.rs', line: 7 },
    { kind: 'session', title: 'Fix the parser', agent: 'OpenAgents', provider: null, id: '1' },
    { kind: 'session', title: 'Untitled', agent: 'Codex', provider: 'codex', id: '3' },
  ]);
});

test('files leave room for other things', () => {
  const files = Array.from({ length: 50 }, (_, at) => `${at}.rs`);
  expect(mentionable('', [], { files, symbols: [] }, own, [])).toHaveLength(50);
  expect(mentionable('', rows, { files, symbols: [] }, own, [])).toHaveLength(14);
  expect(mentionable('f', [], nothing, own, [])).toEqual([]);
});
