import { expect, test } from 'vitest';
import type { Link } from './link.svelte';
import { Watched } from './watched.svelte';

test('an answer that news has overtaken does not bring back how things stood before', async () => {
  let answer: (snapshot: string) => void = () => undefined;
  const link = { request: () => new Promise((resolve) => (answer = resolve)) } as unknown as Link;
  const watched = new Watched<string>(() => link, '_openagents/devices');
  const allowed = watched.act('allow', {}, 'card');
  watched.take('allowed, and connected');
  answer('allowed');
  expect(await allowed).toBe(true);
  expect(watched.snapshot).toBe('allowed, and connected');

  const renamed = watched.act('rename', {}, 'card');
  answer('renamed');
  await renamed;
  expect(watched.snapshot).toBe('renamed');
});
