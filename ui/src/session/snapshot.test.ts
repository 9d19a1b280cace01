import { expect, test } from 'vitest';
import type { Update } from '../connection/protocol';
import { RecentUpdates } from './snapshot';

const update = (seq: number, bytes: number): Update => ({
  params: { sessionId: 's', update: { sessionUpdate: 'session_info_update' } },
  seq,
  ts: 0,
  bytes,
});

test.each([
  [
    'the oldest go first',
    [
      [1, 4],
      [2, 4],
      [3, 4],
    ],
    [2, 3],
  ],
  [
    'the newest stays whatever its size',
    [
      [1, 4],
      [2, 99],
    ],
    [2],
  ],
  [
    'one that comes again is counted once',
    [
      [1, 4],
      [1, 4],
      [2, 4],
    ],
    [1, 2],
  ],
])('%s', (_name, added, kept) => {
  const recent = new RecentUpdates(10);
  for (const [seq = 0, bytes = 0] of added) recent.add(update(seq, bytes));
  expect([1, 2, 3].filter((seq) => recent.get(seq) !== undefined)).toEqual(kept);
});
