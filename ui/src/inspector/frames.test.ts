import { expect, test } from 'vitest';
import type { Link } from '../connection/link.svelte';
import type { Frame } from '../connection/wire';
import { Frames } from './frames.svelte';

const frame = (n: number): Frame => ({
  n,
  ts: n,
  connection: 'c',
  door: 'acp',
  direction: 'in',
  method: 'm',
  bytes: 1,
  json: '{}',
});

function frames(answer: Frame[]): { frames: Frames; asked: object[]; shown: () => number[] } {
  const asked: object[] = [];
  const request = (_method: string, params: object): Promise<unknown> => {
    asked.push(params);
    return Promise.resolve({ frames: answer });
  };
  const made = new Frames({ request } as unknown as Link);
  return { frames: made, asked, shown: () => made.shown.map(({ n }) => n) };
}

/** Regression: once the debug view had been opened, every frame of every connection came for ever. */
test('frames come until the view is left', async () => {
  const { frames: one, asked, shown } = frames([frame(1)]);
  await one.follow();
  one.take([frame(2)]);
  expect(shown()).toEqual([1, 2]);
  one.leave();
  one.forget();
  expect([asked, shown()]).toEqual([[{}, { watch: false }], []]);
});

test('what was shown stays while the view is hidden for a moment', async () => {
  const { frames: one, shown } = frames([frame(2), frame(3)]);
  one.take([frame(1), frame(2)]);
  one.leave();
  await one.follow();
  expect(shown()).toEqual([1, 2, 3]);
});
