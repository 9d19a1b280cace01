import { expect, test } from 'vitest';
import { resultWords } from './result-words';

const done = (name: string, args: Record<string, unknown>, output: unknown): string =>
  resultWords({ name, args, output, state: 'done' });

test.each<[string, Record<string, unknown>, unknown, string]>([
  ['session.list', {}, { sessions: Array(20).fill({}), total_count: 147 }, '20 of 147 sessions'],
  ['session.list', {}, { sessions: [{}], total_count: 1 }, '1 session'],
  ['session.list', { provider: 'codex' }, { sessions: [], total_count: 0 }, 'no sessions · codex'],
  [
    'session.search',
    { pattern: 'pairing' },
    { pattern: 'pairing', matches: [{ sessionId: 'a' }, { sessionId: 'b' }, { sessionId: 'a' }], totalMatches: 3 },
    "'pairing' · 3 matches in 2 sessions",
  ],
  ['session.search', { pattern: 'x' }, { matches: [], totalMatches: 0 }, "'x' · no matches"],
  [
    'session.read',
    { sessionId: '12345678-90ab' },
    { sessionId: '12345678-90ab', events: [{}, {}], totalEvents: 9 },
    'session 12345678… · 2 of 9 events',
  ],
  ['session.analyze', {}, { goalPatterns: ['a'], fileFrequency: { x: 1, y: 2 }, toolFrequency: {} }, '1 goal, 2 files'],
  ['session.analyze', {}, {}, 'no sessions in this workspace'],
  ['fs.list_dir', { path: '.' }, ['a', 'b/'], 'workspace · 2 entries'],
  ['fs.list_dir', { path: 'src' }, ['a'], 'src · 1 entry'],
  ['fs.list_dir', { path: 'src' }, [], 'src · 0 entries'],
  [
    'content.get_span',
    { path: 'README.md' },
    { path: 'README.md', start_line: 1, end_line: 50 },
    'README.md · lines 1–50',
  ],
  ['content.get_span', { path: 'a' }, { path: 'a', start_line: 3, end_line: 3 }, 'a · line 3'],
  [
    'search.grep',
    { pattern: 'fn pair', pathPrefix: 'src' },
    { pattern: 'fn pair', matches: [{ path: 'a' }, { path: 'b' }], total_matches: 12 },
    "'fn pair' · 2 of 12 matches in 2 files · src",
  ],
  [
    'search.grep',
    { pattern: 'x', pathPrefix: '.' },
    { matches: [{ path: 'a' }], total_matches: 1 },
    "'x' · 1 match in 1 file",
  ],
  [
    'search.grep',
    { pattern: 'x' },
    { matches: [{ path: 'a' }], total_matches: 12345 },
    "'x' · 1 of 12,345 matches in 1 file",
  ],
  ['fm.analysis', {}, { source: 'session.analyze', summary_bytes: 90 }, 'from session history'],
  ['fm.analysis', {}, { source: 'model', model: 'Qwen3 8B', summary_bytes: 90 }, 'by Qwen3 8B'],
  ['fm.analysis', {}, { source: 'something' }, 'something'],
  ['unheard.of', { path: 'x' }, [1, 2], 'x · 2 items'],
  ['unheard.of', {}, 'a plain\nanswer', 'a plain answer'],
  ['search.grep', { pattern: 'x' }, null, "'x' · no matches"],
])('%s %j', (name, args, output, expected) => {
  expect(done(name, args, output)).toBe(expected);
});

test.each<[Parameters<typeof resultWords>[0], string]>([
  [{ name: 'search.grep', state: 'pending', args: { pattern: 'x' }, output: undefined }, "'x'"],
  [{ name: 'search.grep', state: 'running', args: { pattern: 'x' }, output: undefined, progress: 0.624 }, "'x' · 62%"],
  [
    { name: 'session.analyze', state: 'running', args: {}, output: undefined, progress: 0.3, note: 'processed 3/10' },
    'processed 3/10 · 30%',
  ],
  [
    { name: 'content.get_span', state: 'pending', args: { path: 'a', startLine: 1, endLine: 9 }, output: undefined },
    'a · lines 1–9',
  ],
])('before the result: %j', (row, expected) => {
  expect(resultWords(row)).toBe(expected);
});
