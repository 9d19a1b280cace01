import { afterEach, expect, test, vi } from 'vitest';
import { proven } from './proof';

afterEach(() => vi.unstubAllGlobals());

/** The same values as in `crates/remote/src/token.rs`. */
test('the page and the bridge compute the same proof', async () => {
  vi.stubGlobal('crypto', {
    subtle: crypto.subtle,
    getRandomValues: (bytes: Uint8Array) =>
      bytes.map((_, at) => [0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef][at % 8] ?? 0),
  });
  let asked: unknown;
  vi.stubGlobal('fetch', (_path: string, init: RequestInit) => {
    asked = JSON.parse(init.body as string);
    return Promise.resolve(
      Response.json({ port: 9099, proof: 'dc7e90c33e2633dc173cfc551d3f1fbdc8e6903c9b06c0a7bbf1e9fabaa8a876' }),
    );
  });
  expect(await proven('ab'.repeat(32), 9099)).toBe(9099);
  expect(asked).toEqual({
    token: 'f95f34339c348c0ed031da012cefd10ac0ec9a591b1b09ca75c2811f5168b3f0',
    nonce: '0123456789abcdef'.repeat(4),
  });
  await expect(proven('ab'.repeat(32), 9100)).rejects.toThrow('Another program');
  await expect(proven('ba'.repeat(32), 9099)).rejects.toThrow('Another program');
});
