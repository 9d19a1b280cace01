import { describe, expect, test } from 'vitest';
import { count, planView, title, type PlanState, type PlanUpdate } from './plan';

type Entry = [content: string, status: 'pending' | 'in_progress' | 'completed', error?: string];

function plan(entries: Entry[], state?: string, planId = 'p'): PlanUpdate {
  return {
    sessionUpdate: 'plan',
    entries: entries.map(([content, status, error]) => ({
      content,
      status,
      priority: 'medium',
      _meta: { openagents: { opId: content, tool: 'search.grep', ...(error === undefined ? {} : { error }) } },
    })),
    _meta: { openagents: { planId, goals: ['g'], ...(state === undefined ? {} : { state }) } },
  };
}

test.each<[PlanState, string]>([
  ['idle', 'Plan Idle'],
  ['running', 'Plan Running'],
  ['complete', 'Plan Complete'],
  ['failed', 'Plan Failed'],
  ['cancelled', 'Plan Cancelled'],
])('%s is called %s', (state, words) => {
  expect(title(state)).toBe(words);
});

test.each<[string, Entry, string]>([
  ['pending', ['a', 'pending'], 'pending'],
  ['in progress', ['a', 'in_progress'], 'running'],
  ['completed', ['a', 'completed'], 'done'],
  ['failed, which the wire calls completed', ['a', 'completed', 'File not found: a'], 'failed'],
  ['not reached before a cancel', ['a', 'completed', 'not run'], 'not-run'],
  ['stopped', ['a', 'completed', 'Cancelled'], 'not-run'],
])('a step that is %s', (_name, entry, expected) => {
  expect(planView(plan([entry], 'running'), 0, null).steps[0]?.state).toBe(expected);
});

describe('the state of the run', () => {
  test.each<[string, Entry[], string | undefined, PlanState]>([
    ['is what the bridge says', [['a', 'completed']], 'cancelled', 'cancelled'],
    [
      'is running while a step is open',
      [
        ['a', 'completed'],
        ['b', 'pending'],
      ],
      undefined,
      'running',
    ],
    [
      'is complete when all steps are over',
      [
        ['a', 'completed'],
        ['b', 'completed', 'x'],
      ],
      undefined,
      'complete',
    ],
    [
      'is failed when all steps failed',
      [
        ['a', 'completed', 'x'],
        ['b', 'completed', 'y'],
      ],
      undefined,
      'failed',
    ],
    ['falls back when the word is unknown', [['a', 'pending']], 'paused', 'running'],
  ])('%s', (_name, entries, stated, expected) => {
    expect(planView(plan(entries, stated), 0, null).state).toBe(expected);
  });
});

test('steps with the same text are merged, and the best status wins', () => {
  const view = planView(
    plan(
      [
        ['a', 'pending'],
        ['b', 'in_progress'],
        ['a', 'completed'],
        ['b', 'pending'],
      ],
      'running',
    ),
    0,
    null,
  );
  expect(view.steps.map((step) => [step.content, step.state])).toEqual([
    ['a', 'done'],
    ['b', 'running'],
  ]);
});

test('time counts from the first update of each run', () => {
  const first = planView(plan([['a', 'pending']], 'running', 'p1'), 100, null);
  const second = planView(plan([['a', 'completed']], 'complete', 'p1'), 500, first);
  const third = planView(plan([['a', 'pending']], 'running', 'p2'), 900, second);
  expect([second.startedAt, second.updatedAt, third.startedAt]).toEqual([100, 500, 900]);
});

test.each<[Entry[], string]>([
  [
    [
      ['a', 'completed'],
      ['b', 'in_progress'],
      ['c', 'pending'],
    ],
    '1 of 3 · 0.4 s',
  ],
  [
    [
      ['a', 'completed'],
      ['b', 'completed', 'x'],
      ['c', 'completed', 'not run'],
    ],
    '2 of 3 · 1 failed · 0.4 s',
  ],
])('the count of %j', (entries, expected) => {
  expect(count(planView(plan(entries, 'running'), 0, null), '0.4 s')).toBe(expected);
});
