import { expect, test } from 'vitest';
import type { DeviceRequest } from '../connection/devices-wire';
import { Doorbell } from './doorbell';

const request = (id: string): DeviceRequest => ({
  id,
  kind: 'pair',
  name: 'Phone',
  address: '192.168.1.7',
  compare: '482 913',
  askedAt: 1,
  expiresAt: 2,
  sessionId: null,
});

test('it rings once for each', () => {
  const said: string[] = [];
  const bell = new Doorbell((_, body) => said.push(body));
  bell.ring([request('a')]);
  bell.ring([request('a'), request('b')]);
  bell.ring([]);
  expect(said).toEqual(['A device at 192.168.1.7 wants to pair.', 'A device at 192.168.1.7 wants to pair.']);
});
