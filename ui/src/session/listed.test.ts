import { expect, test } from 'vitest';
import type { PastSession } from '../connection/history-wire';
import { AGENTS, chosen, listed } from './listed';
import type { SessionItem } from './session-list.svelte';

const ours = (id: string, updatedAt: number): SessionItem => ({ id, title: id, cwd: '/w', updatedAt, running: false, waiting: 0 });
const past = (id: string, updatedAt: number, provider = 'codex'): PastSession => ({ provider, agent: provider, id, title: id, cwd: null, branch: null, model: null, createdAt: null, updatedAt });
const keys = (entries: { key: string }[]): string[] => entries.map(({ key }) => key);

test('a list that goes on hides what may stand between its end and the other list', () => {
  const mine = { items: [ours('a', 9), ours('b', 5)], more: true };
  expect(keys(listed(mine, { items: [past('x', 7), past('y', 3)], more: false }))).toEqual(['a', 'b', 'codex x']);
  expect(keys(listed({ ...mine, more: false }, { items: [past('x', 7), past('y', 3)], more: true }))).toEqual(['a', 'b', 'codex x', 'codex y']);
  expect(keys(listed({ items: [], more: false }, { items: [past('x', 7)], more: false }))).toEqual(['codex x']);
});

test('sessions of one agent', () => {
  const entries = listed({ items: [ours('a', 9)], more: false }, { items: [past('x', 7), past('y', 3, 'gemini')], more: false });
  expect(keys(chosen(entries, AGENTS))).toHaveLength(3);
  expect(keys(chosen(entries, ''))).toEqual(['a']);
  expect(keys(chosen(entries, 'gemini'))).toEqual(['gemini y']);
});
