import { expect, test } from 'vitest';
import type { Link } from './link.svelte';
import { SnapshotClient } from './snapshot-client.svelte';

test('a stale answer does not replace a newer snapshot', async () => {
  let answer: (snapshot: string) => void = () => undefined;
  const link = { request: () => new Promise((resolve) => (answer = resolve)) } as unknown as Link;
  const client = new SnapshotClient<string>(link, '_openagents/devices');
  const allowed = client.act('allow', {}, 'card');
  client.take('allowed, and connected');
  answer('allowed');
  expect(await allowed).toBe(true);
  expect(client.snapshot).toBe('allowed, and connected');

  const renamed = client.act('rename', {}, 'card');
  answer('renamed');
  await renamed;
  expect(client.snapshot).toBe('renamed');
});
