import { expect, test } from 'vitest';
import type { Update } from '../connection/protocol';
import type { SessionUpdate } from '../connection/wire';
import { heading, notification, quote, step } from './inspection.svelte';

const update = (body: SessionUpdate): Update => ({
  params: { sessionId: 's', update: body, _meta: { openagents: { seq: 1, ts: 2 } } },
  seq: 1,
  ts: 2,
  bytes: 3,
});

test.each<[SessionUpdate, string]>([
  [{ sessionUpdate: 'tool_call', toolCallId: 'c', title: 'x' }, 'call'],
  [{ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'in_progress' }, 'in progress'],
  [
    {
      sessionUpdate: 'tool_call_update',
      toolCallId: 'c',
      status: 'in_progress',
      _meta: { openagents: { progress: 0.62 } },
    },
    '62%',
  ],
  [{ sessionUpdate: 'tool_call_update', toolCallId: 'c', status: 'failed' }, 'failed'],
  [{ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text: '' } }, 'agent message chunk'],
])('%j has a tab named %s', (body, expected) => expect(step(update(body))).toBe(expected));

test('an update that the page has dropped has a tab with its number', () => {
  expect(step({ seq: 12 })).toBe('#12');
});

test('a notification is shown as received', () => {
  const one = update({ sessionUpdate: 'session_info_update', title: 'T' });
  expect(notification(one.params)).toEqual({ jsonrpc: '2.0', method: 'session/update', params: one.params });
});

test('evidence has its citation as heading', () => {
  expect(heading({ kind: 'location', location: { kind: 'file', path: 'a.rs', line: 3, text: 'x' } })).toBe('a.rs:3');
});

test('a finding has its location as heading and is quoted in full', () => {
  const location = { kind: 'usage' as const, path: 'a.rs', start: 3, end: 4, excerpt: 'x\ny', score: 1, why: '' };
  expect([heading({ kind: 'location', location }), quote(location)]).toEqual(['a.rs:3-4', 'x\ny']);
});
