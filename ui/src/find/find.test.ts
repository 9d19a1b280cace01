import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Row } from '../session/rows';
import { Find, type Log } from './find.svelte';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', { activeElement: null });
  vi.stubGlobal('HTMLElement', class {});
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const row = (at: number, text: string): Row => ({
  kind: 'user',
  key: `u${at}`,
  seqs: [at],
  ts: 0,
  text,
  messageId: null,
  removed: false,
});
const ROWS = [row(10, 'needle'), row(11, 'hay'), row(12, 'needle needle')];

/** A bar with a query over rows, once it has searched. */
async function searching(query: string, rows: readonly Row[], log: Log | null = null, top = 0): Promise<Find> {
  const find = new Find();
  find.show();
  find.query = query;
  find.search({ rows, log, top: () => top });
  await vi.advanceTimersByTimeAsync(500);
  return find;
}

test('the first match on screen is current, and steps wrap around', async () => {
  const find = await searching('needle', ROWS, null, 1);
  expect([find.position, find.found.total]).toEqual([1, 3]);
  const seen = [find.target?.place];
  for (let steps = 0; steps < 3; steps += 1) {
    find.step(1);
    seen.push(find.target?.place);
  }
  expect(seen).toEqual([
    { key: 'u12', nth: 0 },
    { key: 'u12', nth: 1 },
    { key: 'u10', nth: 0 },
    { key: 'u12', nth: 0 },
  ]);
  find.step(-1);
  expect(find.target?.place).toEqual({ key: 'u10', nth: 0 });
});

test('new rows are counted without moving the current match', async () => {
  const find = await searching('needle', ROWS, null, 2);
  const { target } = find;
  find.search({ rows: [row(9, 'needle'), ...ROWS, row(13, 'needle')], log: null, top: () => 0 });
  await vi.advanceTimersByTimeAsync(500);
  expect([find.position, find.found.total]).toEqual([2, 5]);
  expect(find.target).toBe(target);
});

test('another query starts over, and an empty one finds nothing', async () => {
  const find = await searching('needle', ROWS);
  find.query = 'hay';
  find.search({ rows: ROWS, log: null, top: () => 0 });
  await vi.advanceTimersByTimeAsync(500);
  expect([find.position, find.found.total, find.busy]).toEqual([0, 1, false]);
  find.query = '';
  find.search({ rows: ROWS, log: null, top: () => 0 });
  expect([find.position, find.found.total, find.busy]).toEqual([-1, 0, false]);
  find.step(1);
  expect(find.target).toBeNull();
});

test('matches in unloaded lines are counted and loaded when reached', async () => {
  const lines = vi.fn(() => Promise.resolve({ lines: [2, 10, 12, 70, 71], more: true }));
  const log: Log = { range: () => [10, 12], lines, seek: () => Promise.resolve(null) };
  const find = await searching('needle', ROWS, log);
  expect(lines).toHaveBeenCalledExactlyOnceWith('needle');
  expect([find.found.total, find.found.more, find.position]).toEqual([6, true, 1]);
  find.step(-1);
  expect(find.target?.place).toEqual({ line: 2 });
  // The rows around the line replace the others.
  log.range = () => [2, 3];
  find.search({ rows: [row(2, 'needle'), row(3, 'hay')], log, top: () => 0 });
  find.arrived('u2');
  await vi.advanceTimersByTimeAsync(500);
  expect(find.target?.place).toEqual({ key: 'u2', nth: 0 });
  expect([find.position, find.found.total]).toEqual([0, 5]);
});

test('without log search, the loaded rows are searched', async () => {
  const find = await searching('needle', ROWS, {
    range: () => [10, 12],
    lines: () => Promise.resolve(null),
    seek: () => Promise.resolve(null),
  });
  expect([find.found.total, find.found.more, find.busy]).toEqual([3, false, false]);
});

test('closing a running search leaves nothing behind', async () => {
  const find = await searching('needle', ROWS);
  find.query = 'hay';
  find.search({ rows: ROWS, log: null, top: () => 0 });
  find.close();
  await vi.advanceTimersByTimeAsync(500);
  expect([find.open, find.position, find.found.total, find.busy]).toEqual([false, -1, 0, false]);
});
