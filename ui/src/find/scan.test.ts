import { expect, test, vi } from 'vitest';
import type { Row } from '../timeline/rows';
import { Scan } from './scan';

const row = (at: number): Row => ({
  kind: 'user',
  key: `u${at}`,
  seqs: [at],
  ts: 0,
  text: at % 2 === 0 ? `needle ${at}` : 'hay',
  messageId: null,
  removed: false,
});
const rows = Array.from({ length: 100 }, (_, at) => row(at));

test('rows are counted in slices', async () => {
  let now = 0;
  const rest = vi.fn(() => Promise.resolve());
  // Each row takes a millisecond.
  const hits = await new Scan('NEEDLE', rest, () => (now += 1)).hits(rows, () => false);
  expect(hits?.length).toBe(50);
  expect(hits?.[1]).toEqual({ key: 'u2', index: 2, count: 1 });
  expect(rest.mock.calls.length).toBeGreaterThan(8);
});

test('a count ends when its result is no longer needed', async () => {
  let now = 0;
  const rest = vi.fn(() => Promise.resolve());
  expect(await new Scan('needle', rest, () => (now += 1)).hits(rows, () => true)).toBeNull();
  expect(rest).toHaveBeenCalledOnce();
});

test('rows that stay are not read again', async () => {
  const scan = new Scan('needle', () => Promise.resolve());
  await scan.hits(rows, () => false);
  const read = vi.fn(() => 'needle');
  const watched = {
    ...row(1),
    get text() {
      return read();
    },
  } as Row;
  expect((await scan.hits([...rows, watched], () => false))?.length).toBe(51);
  read.mockClear();
  await scan.hits([...rows, watched], () => false);
  expect(read).not.toHaveBeenCalled();
});
