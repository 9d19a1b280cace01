import { RequestError } from '@agentclientprotocol/sdk';
import { expect, test, vi } from 'vitest';
import type { PastPart } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { Transcript } from './transcript.svelte';

const LINES = 100;
/** Lines of a part. */
const PART = 10;

const session: PastPart['session'] = {
  provider: 'codex',
  agent: 'Codex',
  id: 's',
  title: null,
  cwd: null,
  branch: null,
  model: null,
  createdAt: null,
  resume: null,
  updatedAt: 0,
};

/** Lines `from` to `to`, each a thought; the offset of a line is its number. */
function part(from: number, to: number): PastPart {
  const updates = Array.from({ length: to - from }, (_, at) => ({
    sessionId: 's',
    update: {
      sessionUpdate: 'agent_thought_chunk' as const,
      content: { type: 'text' as const, text: `Line ${from + at}` },
      messageId: `m${from + at}`,
    },
    _meta: { openagents: { seq: from + at, ts: 0 } },
  }));
  return { session, updates, from, to, size: LINES, omitted: 0 };
}

function reading(find: () => unknown = () => ({ lines: [3, 50], more: false })) {
  const request = vi.fn((method: string, params: { line?: number; before?: number; from?: number }) => {
    if (method.endsWith('/find')) return Promise.resolve().then(find);
    if (params.line !== undefined) return Promise.resolve(part(params.line - 2, params.line - 2 + PART));
    if (params.before !== undefined) return Promise.resolve(part(params.before - PART, params.before));
    const from = params.from ?? LINES - PART;
    return Promise.resolve(part(from, Math.min(LINES, from + PART)));
  });
  return {
    request,
    transcript: new Transcript({ state: { name: 'live' }, request } as unknown as Link, 'codex', 's', null, null),
  };
}

const settled = (): Promise<void> => new Promise((after) => setTimeout(after));

test('the range of loaded lines is known until everything is loaded', async () => {
  const { transcript } = reading();
  await settled();
  expect(transcript.range()).toEqual([90, 99]);
  await transcript.readEarlier();
  expect(transcript.range()).toEqual([80, 99]);
  while (transcript.more) await transcript.readEarlier();
  expect(transcript.range()).toBeNull();
});

test('jumping to a line loads the rows around it, once', async () => {
  const { transcript, request } = reading();
  await settled();
  const reads = request.mock.calls.length;
  const near = await transcript.seek(95);
  expect([
    transcript.row(near ?? '')?.seqs,
    transcript.wanted,
    transcript.jumps,
    request.mock.calls.length - reads,
  ]).toEqual([[95], 95, 0, 0]);
  const far = await transcript.seek(50);
  expect([transcript.row(far ?? '')?.seqs, transcript.range(), transcript.jumps]).toEqual([[50], [48, 57], 1]);
  expect([transcript.more, transcript.behind]).toEqual([true, true]);
});

test('fold state survives loading earlier rows and is reset by a jump', async () => {
  const { transcript } = reading();
  await settled();
  const key = transcript.at(95)?.key ?? '';
  transcript.unfolded.set(key, true);
  await transcript.readEarlier();
  expect(transcript.at(95)?.key).toBe(key);
  await transcript.seek(20);
  expect(transcript.rows.map((row) => row.key)).not.toContain(key);
});

/** Regression: it was not read, and a list at its top does not ask again. */
test('loads of earlier parts are queued', async () => {
  const { transcript, request } = reading();
  await settled();
  const later = transcript.readLater();
  await Promise.all([transcript.readEarlier(), transcript.readEarlier(), later]);
  expect(transcript.range()).toEqual([80, 99]);
  expect(request.mock.calls.filter(([, { before }]) => before !== undefined)).toHaveLength(1);
});

test('search support is probed once', async () => {
  const { transcript, request } = reading(() => {
    throw RequestError.methodNotFound('_openagents/history/find');
  });
  await settled();
  const before = request.mock.calls.length;
  expect(await transcript.lines('a')).toBeNull();
  expect(await transcript.lines('b')).toBeNull();
  expect(request.mock.calls.length - before).toBe(1);
});

test('other search errors do not disable search', async () => {
  const found = vi.fn<() => unknown>().mockImplementationOnce(() => {
    throw new Error('not connected');
  });
  found.mockImplementation(() => ({ lines: [3], more: false }));
  const { transcript } = reading(found);
  await settled();
  expect(await transcript.lines('a')).toBeNull();
  expect(await transcript.lines('a')).toEqual({ lines: [3], more: false });
});
