import { expect, test } from 'vitest';
import type { DeviceRequest } from '../connection/devices-wire';
import { AccessRequestNotifier } from './access-request-notifier';

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

test('notifies once for each access request', () => {
  const said: string[] = [];
  const notifier = new AccessRequestNotifier((_, body) => said.push(body));
  notifier.notify([request('a')]);
  notifier.notify([request('a'), request('b')]);
  notifier.notify([]);
  expect(said).toEqual(['A device at 192.168.1.7 wants to pair.', 'A device at 192.168.1.7 wants to pair.']);
});
