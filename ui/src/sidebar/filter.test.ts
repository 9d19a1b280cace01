import { expect, test } from 'vitest';
import { ownEntry, pastEntry, type Entry } from '../session/entry';
import { choices, conditions, emptyWords, pastFilter, selected, UNFILTERED, type Filter } from './filter';

const now = new Date(2026, 10, 21, 9, 30);
const day = (n: number): number => now.getTime() - n * 86_400_000;
const past = (id: string, provider: string, more: object = {}): Entry =>
  pastEntry({
    provider,
    agent: provider,
    id,
    title: id,
    cwd: '/w',
    branch: 'main',
    model: null,
    createdAt: null,
    resume: null,
    updatedAt: day(0),
    ...more,
  });

const ENTRIES = [
  ownEntry({ id: 'a', title: 'a', cwd: '/w', updatedAt: day(0), running: false, waiting: 0 }),
  past('b', 'codex', { branch: 'fix' }),
  past('c', 'codex', { updatedAt: day(3), cwd: '/other' }),
  past('d', 'gemini', { updatedAt: day(20), archived: true }),
  past('e', 'gemini', { updatedAt: day(60) }),
];

test.each<[string, Partial<Filter>, string]>([
  ['none', {}, 'abce'],
  ['our own', { provider: '' }, 'a'],
  ['one agent', { provider: 'codex' }, 'bc'],
  ['a workspace', { cwd: '/other' }, 'c'],
  ['a branch', { branch: 'fix' }, 'b'],
  ['today', { days: 0 }, 'ab'],
  ['7 days', { days: 7 }, 'abc'],
  ['30 days with archived', { days: 30, archived: 'shown' }, 'abcd'],
  ['archived only', { archived: 'only' }, 'd'],
  ['several', { provider: 'codex', days: 0 }, 'b'],
])('%s', (_, filter, expected) => {
  expect(
    selected(ENTRIES, { ...UNFILTERED, ...filter }, now)
      .map(({ id }) => id)
      .join(''),
  ).toBe(expected);
});

test('the bridge gets only the set conditions', () => {
  expect(pastFilter(UNFILTERED, now)).toEqual({ archived: false });
  expect(
    pastFilter({ provider: 'codex', cwd: '/w', branch: 'fix', days: 0, archived: 'shown', gone: true }, now),
  ).toEqual({
    provider: 'codex',
    cwd: '/w',
    branch: 'fix',
    since: new Date(2026, 10, 21).getTime(),
    gone: true,
  });
});

const name = (provider: string): string => (provider === '' ? 'OpenAgents' : provider);

test('the conditions in words', () => {
  expect(conditions(UNFILTERED, name)).toEqual([]);
  expect(
    conditions({ provider: '', cwd: '/code/w', branch: 'fix', days: 7, archived: 'only', gone: true }, name).map(
      ({ words }) => words,
    ),
  ).toEqual(['OpenAgents', 'w', 'fix', 'Last 7 days', 'Archived only', 'Gone']);
});

test.each<[Partial<Filter>, string]>([
  [{ provider: 'codex', branch: 'gone' }, 'No sessions for the filter “gone”.'],
  [{ provider: 'gemini', days: 0 }, 'No session matches all of: gemini, Today.'],
  [{ provider: 'gemini', days: 30 }, 'All matching sessions are archived.'],
])('%j hides everything', (filter, expected) => {
  expect(emptyWords(ENTRIES, { ...UNFILTERED, ...filter }, now, name)).toBe(expected);
});

test('workspaces and branches to choose from', () => {
  expect(choices(ENTRIES, null, ['/w', '/new'])).toEqual({
    workspaces: ['/w', '/other', '/new'],
    branches: ['fix', 'main'],
  });
  expect(choices(ENTRIES, '/other', [])).toEqual({ workspaces: ['/w', '/other'], branches: ['main'] });
});
