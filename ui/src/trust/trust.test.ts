import { expect, test } from 'vitest';
import type { Approval } from '../connection/wire';
import {
  awaited,
  byItself,
  byRisk,
  isAnsweredHere,
  loadedBy,
  trustOutcome,
  trustQuestion,
  trustTitle,
  waitingWords,
} from './trust';

const QUESTION = { workspace: '/w/app', agent: 'Codex', again: false, files: [], complete: true };
const approval = (of: object): Approval => ({
  id: 'a',
  callId: 'c',
  agent: 'OpenAgents',
  title: 'Trust this folder?',
  hash: '',
  options: [
    { id: 'trust', name: 'Trust', kind: 'allow_always' },
    { id: 'not-now', name: 'Not now', kind: 'reject_once' },
  ],
  state: 'pending',
  askedAt: 0,
  subject: 'trust',
  rawInput: QUESTION,
  ...of,
});

test('the question lists what the agent does without asking', () => {
  expect(byItself(QUESTION)).toEqual([]);
  expect(byItself({ ...QUESTION, decidesWhatItAsks: true, deletes: 1 })).toEqual([
    'Codex may act without asking you.',
    'Codex deletes 1 session the next time it runs.',
  ]);
  expect(byItself({ ...QUESTION, deletes: 12 })).toEqual(['Codex deletes 12 sessions the next time it runs.']);
});

const action = structuredClone(approval({}));
delete action.subject;

test('an agent cannot forge a trust question', () => {
  expect(trustQuestion(approval({}))).toEqual(QUESTION);
  expect(trustTitle(QUESTION)).toBe('Trust “app”?');
  expect(trustQuestion(action)).toBe(null);
  for (const rawInput of [undefined, null, 'text', {}, { ...QUESTION, files: 1 }])
    expect(trustQuestion(approval({ rawInput }))).toBe(null);
});

test('folders can only be trusted on the computer itself', () => {
  const phone = { device: { id: 'p', name: 'Phone' } };
  expect(isAnsweredHere(approval({}), { device: null })).toBe(true);
  expect(isAnsweredHere(approval({}), phone)).toBe(false);
  expect(isAnsweredHere(action, phone)).toBe(true);
  expect(waitingWords(approval({}), 'Mac')).toBe('Waiting for trust on Mac.');
  expect(waitingWords(action, null)).toBe('Waiting for approval on the computer.');
});

test('the kind of a pending approval', () => {
  expect(awaited([])).toBe(null);
  expect(awaited([approval({ state: 'expired' })])).toBe(null);
  expect(awaited([approval({ state: 'answered' }), approval({})])).toBe('trust');
  expect(awaited([action])).toBe('approval');
});

test('the outcome names the decision and the device', () => {
  expect(trustOutcome(approval({ state: 'answered', optionId: 'trust', by: 'Desktop' }))).toBe('Trusted on Desktop');
  expect(trustOutcome(approval({ state: 'answered', optionId: 'not-now' }))).toBe('Declined on another device');
});

test('files are grouped by risk, most dangerous first', () => {
  const file = (path: string, risk: 'programs' | 'redirects' | 'instructions', agents: string[] = []) => ({
    path,
    risk,
    does: '',
    agents,
    says: [],
  });
  const files = [
    file('AGENTS.md', 'instructions', ['a', 'b', 'c', 'd', 'e']),
    file('.env', 'redirects', ['a']),
    file('.codex', 'programs'),
    file('.gemini', 'programs'),
  ];
  expect(byRisk(files).map(({ heading, files }) => [heading, files.map(({ path }) => path)])).toEqual([
    ['Programs, and what may run', ['.codex', '.gemini']],
    ['Where agents connect to', ['.env']],
    ['Instructions for the model', ['AGENTS.md']],
  ]);
  expect(byRisk([])).toEqual([]);
  expect(files.map(loadedBy)).toEqual(['a, b, c and 2 more', 'a', '', '']);
});
