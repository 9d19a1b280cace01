import { expect, test } from 'vitest';
import type { Finding, Summary } from '../connection/wire';
import { argumentsOf, briefFor, briefOf, missing } from './brief';

const SUMMARY: Summary = {
  repository: 'harbour',
  source: 'session_analyze',
  recent_work: [],
  followups: [],
  intent: 'Finish QR pairing. Then the rest.',
  top_files: ['src/pair.rs', 'src/lib.rs'],
  evidence: [
    { kind: 'session', provider: 'codex', session_id: '0199a2b4-1111', line: 3, text: 'x' },
    { kind: 'file', path: 'src/pair.rs', line: 2, text: 'TODO' },
  ],
};
const BRIEF = briefOf(SUMMARY, '/w/harbour');

test('an exploration suggests intent and evidence, each file once', () => {
  expect(BRIEF).toMatchObject({
    provider: 'auto',
    workspace: '/w/harbour',
    intent: SUMMARY.intent,
    evidence: 'codex 0199a2b:3\nsrc/pair.rs:2\nsrc/lib.rs',
  });
});

const FOUND: Finding[] = [
  {
    kind: 'definition',
    path: 'src/lib.rs',
    start: 12,
    end: 40,
    excerpt: 'fn expire() {}',
    symbol: 'expire',
    score: 1,
    why: '`expire`',
  },
  { kind: 'text', path: 'README.md', start: 3, end: 3, excerpt: 'x', score: 0.5, why: '' },
  {
    kind: 'session',
    provider: 'codex',
    session_id: '0199a2b4-1111',
    start: 7,
    end: 9,
    excerpt: 'x',
    symbol: 'Pairing:\nfirst draft',
    score: 0.4,
    why: '',
  },
];

test('findings come before other evidence, each file once', () => {
  expect(briefOf({ ...SUMMARY, findings: FOUND.slice(0, 1) }, '/w').evidence).toBe(
    'src/lib.rs:12-40 expire\ncodex 0199a2b:3\nsrc/pair.rs:2',
  );
});

test('a question includes its findings', () => {
  const brief = briefFor('Where does the code expire?', FOUND, '/w');
  expect(brief).toMatchObject({ intent: 'Where does the code expire?', acceptance: '', workspace: '/w' });
  expect(brief.evidence).toBe('src/lib.rs:12-40 expire\nREADME.md:3\ncodex 0199a2b:7-9 Pairing: first draft');
});

test('the whole brief becomes the prompt, and limits become arguments', () => {
  const told = argumentsOf({
    ...BRIEF,
    provider: 'gptoss_20b',
    acceptance: ' It works. \n\n',
    files: 'src/**\n',
    minutes: '1,5',
    dryRun: true,
  });
  expect(told).toEqual({
    provider: 'gptoss',
    task: 'delegate',
    description: 'Finish QR pairing.',
    user_prompt:
      'Finish QR pairing. Then the rest.\n\nEvidence:\n- codex 0199a2b:3\n- src/pair.rs:2\n- src/lib.rs\n\nDone when:\n- It works.',
    workspace_root: '/w/harbour',
    summarize: true,
    files_include_glob: ['src/**'],
    time_budget_ms: 90_000,
    dry_run: true,
  });
});

test('empty fields are not sent', () => {
  const told = argumentsOf({ ...BRIEF, evidence: '', acceptance: '' });
  expect(Object.keys(told)).toEqual(['provider', 'task', 'description', 'user_prompt', 'workspace_root', 'summarize']);
  expect(told['user_prompt']).toBe(SUMMARY.intent);
});

test.each([
  [{}, null],
  [{ intent: ' ' }, 'Enter a task.'],
  [{ workspace: '' }, 'Enter a workspace folder.'],
  [{ minutes: 'soon' }, 'Enter the time budget in minutes.'],
  [{ minutes: '0' }, 'Enter the time budget in minutes.'],
])('%j is missing: %s', (more, expected) => expect(missing({ ...BRIEF, ...more })).toBe(expected));
