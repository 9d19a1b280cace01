import { expect, test } from 'vitest';
import type { Finding, Summary } from '../connection/wire';
import { baseName, citation, heading, locationOf, providerName, tilde } from './places';

const ID = '19fba3d0-1234-4444-8888-000000000000';

test.each([
  [{ kind: 'file' as const, path: 'src/pair.rs', line: 88, text: '' }, 'src/pair.rs:88'],
  [{ kind: 'session' as const, provider: 'codex', session_id: ID, line: 214, text: '' }, 'codex 19fba3d:214'],
  [{ kind: 'session' as const, provider: 'codex', session_id: ID, line: 0, text: '' }, 'codex 19fba3d'],
  [
    { kind: 'session' as const, provider: 'claude-code', session_id: 'short', line: 1, text: '' },
    'claude-code short:1',
  ],
])('%j is cited as %s', (evidence, expected) => expect(citation(evidence)).toBe(expected));

test.each([
  ['session_analyze', 'Intent From Session History'],
  ['fm', 'Inferred Intent (FM)'],
  ['gptoss', 'Inferred Intent (GPTOSS)'],
  ['readme', 'Inferred Intent (README)'],
  ['none', null],
])('a summary from %s has the heading %s', (source, expected) =>
  expect(heading({ repository: 'r', source } as Summary)).toBe(expected),
);

test('the heading of another model names it', () => {
  expect(heading({ repository: 'r', source: 'model', model: 'Qwen3 8B' } as Summary)).toBe(
    'Inferred Intent (Qwen3 8B)',
  );
});

test('every known agent has a name', () => {
  const ids = [
    'amp',
    'claude-code',
    'cline',
    'codex',
    'copilot',
    'cursor',
    'droid',
    'gemini',
    'goose',
    'openclaw',
    'qwen',
  ];
  expect(ids.filter((id) => providerName(id) === id)).toEqual([]);
});

const FINDING = { start: 12, end: 40, excerpt: '', score: 1, why: '' };

test.each<[Finding, string]>([
  [{ kind: 'definition', path: 'src/pair.rs', ...FINDING }, 'src/pair.rs:12-40'],
  [{ kind: 'text', path: 'README.md', ...FINDING, end: 12 }, 'README.md:12'],
  [{ kind: 'session', provider: 'codex', session_id: ID, ...FINDING }, 'codex 19fba3d:12-40'],
])('%j is at %s', (finding, expected) => expect(locationOf(finding)).toBe(expected));

test.each([
  ['/home/me/code/bridge', 'bridge'],
  ['/home/me/code/bridge/', 'bridge'],
  ['/', '/'],
  ['C:\\code\\bridge', 'bridge'],
])('%s ends in %s', (path, expected) => expect(baseName(path)).toBe(expected));

test.each([
  ['/home/me/code', '~/code'],
  ['/Users/me', '~'],
  ['/root/x', '~/x'],
  ['/rooted/x', '/rooted/x'],
  ['/srv/home/me', '/srv/home/me'],
])('%s is shown as %s', (path, expected) => expect(tilde(path)).toBe(expected));
