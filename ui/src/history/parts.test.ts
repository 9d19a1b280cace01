import { expect, test } from 'vitest';
import type { Update } from '../connection/protocol';
import type { SessionUpdate } from '../connection/wire';
import type { Row } from '../session/rows';
import { Parts } from './parts';

const text = (value: string) => ({ type: 'text' as const, text: value });

/** A turn of ten updates: a call that ends after others began, a delegate, a thought. */
function turn(n: number): [SessionUpdate, object?][] {
  const call = (id: string): SessionUpdate => ({
    sessionUpdate: 'tool_call',
    toolCallId: `${id}${n}`,
    title: id,
    status: 'pending',
    rawInput: { n },
  });
  const ended = (id: string): SessionUpdate => ({
    sessionUpdate: 'tool_call_update',
    toolCallId: `${id}${n}`,
    status: 'completed',
    content: [{ type: 'content', content: text(`Result ${n}`) }],
  });
  const said = (value: string, id: string): SessionUpdate => ({
    sessionUpdate: 'agent_message_chunk',
    content: text(value),
    messageId: `${id}${n}`,
  });
  const inside = { parentCallId: `task${n}`, childSessionId: `child${n}` };
  return [
    [{ sessionUpdate: 'user_message_chunk', content: text(`Question ${n}`), messageId: `u${n}` }],
    [{ sessionUpdate: 'agent_thought_chunk', content: text('Hm.'), messageId: `h${n}` }],
    [call('task')],
    [call('run')],
    [said('Inside', 'i'), inside],
    [call('inner'), inside],
    [said(`Answer ${n}`, 'a')],
    [ended('inner'), inside],
    [ended('run')],
    [ended('task')],
  ];
}

const LOG: Update[] = Array.from({ length: 12 }, (_, n) => turn(n))
  .flat()
  .map(([update, meta], at) => ({
    params: { sessionId: 's', update, _meta: { openagents: { ...meta } } },
    seq: at + 1,
    ts: 1_000 * at,
    bytes: 0,
  }));

/** The rows without their keys, which say where reading began. */
function named(rows: readonly Row[]): unknown {
  return JSON.parse(JSON.stringify(rows, (name, value: unknown) => (name === 'key' ? undefined : value)));
}

function whole(): Parts {
  const parts = new Parts(0);
  parts.addBelow(LOG);
  return parts;
}

test('a log loaded upwards in parts has the rows of the whole log', () => {
  for (let size = 1; size <= 23; size += 1) {
    const parts = new Parts(1_000);
    for (let end = LOG.length; end > 0; end -= size) parts.addAbove(LOG.slice(Math.max(0, end - size), end));
    expect(named(parts.rows), `parts of ${size}`).toEqual(named(whole().rows));
    expect(new Set(parts.rows.map(({ key }) => key)).size).toBe(parts.rows.length);
  }
});

test('a log loaded from its middle in both directions has the rows of the whole log', () => {
  for (let size = 3; size <= 23; size += 5) {
    const parts = new Parts(1_000);
    let [from, to] = [50, 50];
    while (from > 0 || to < LOG.length) {
      parts.addBelow(LOG.slice(to, to + size));
      to += size;
      parts.addAbove(LOG.slice(Math.max(0, from - size), from));
      from = Math.max(0, from - size);
    }
    expect(named(parts.rows), `parts of ${size}`).toEqual(named(whole().rows));
  }
});

test('adding rows keeps the keys and objects of others', () => {
  const parts = new Parts(1_000);
  parts.addAbove(LOG.slice(60, 120));
  const before = parts.rows;
  parts.addAbove(LOG.slice(0, 60));
  const after = parts.rows.slice(-before.length);
  expect(after.every((row, at) => row === before[at])).toBe(true);
  // The result of a call is in another part than the call.
  const cut = new Parts(1_000);
  cut.addAbove(LOG.slice(48, 120));
  const keys = cut.rows.filter(({ seqs }) => (seqs[0] ?? 0) > 50).map(({ key }) => key);
  cut.addAbove(LOG.slice(0, 48));
  expect(cut.rows.filter(({ seqs }) => (seqs[0] ?? 0) > 50).map(({ key }) => key)).toEqual(keys);
});

test('endless appends are folded in parts', () => {
  const parts = new Parts(0);
  const many = Array.from({ length: 60 }, (_, n) =>
    LOG.map((update) => ({ ...update, seq: update.seq + n * LOG.length })),
  );
  for (const updates of many) parts.addBelow(updates);
  expect(parts.rows.filter(({ kind }) => kind === 'user')).toHaveLength(60 * 12);
});
