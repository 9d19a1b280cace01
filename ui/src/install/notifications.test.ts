import { beforeEach, afterEach, expect, test, vi } from 'vitest';
import { beginNotifications, notifyApproval, watchNotifications, withdrawApproval } from './notifications';

const settled = (): Promise<void> => new Promise((after) => setTimeout(after));
const approval = (id: string): Parameters<typeof notifyApproval>[0] => ({
  id,
  sessionId: 's',
  title: 'Run',
  agent: 'Codex',
});

let shown: string[];
let page: EventTarget & { visibilityState: string };
let workers: EventTarget & { controller: object | null; ready: Promise<unknown> };

beforeEach(() => {
  shown = [];
  page = Object.assign(new EventTarget(), { visibilityState: 'hidden' });
  const registration = {
    showNotification: (_title: string, { tag }: { tag: string }) => Promise.resolve(shown.push(tag)),
    getNotifications: ({ tag }: { tag?: string } = {}) =>
      Promise.resolve(
        shown
          .filter((known) => tag === undefined || known === tag)
          .map((known) => ({ tag: known, close: () => (shown = shown.filter((other) => other !== known)) })),
      ),
  };
  workers = Object.assign(new EventTarget(), { controller: {}, ready: Promise.resolve(registration) });
  vi.stubGlobal('document', page);
  vi.stubGlobal('navigator', { serviceWorker: workers });
  vi.stubGlobal('Notification', { permission: 'granted' });
});
afterEach(() => vi.unstubAllGlobals());

test('a notification of a closed page is withdrawn by the next page', async () => {
  shown = ['answered long ago'];
  notifyApproval(approval('waits'));
  beginNotifications();
  await settled();
  expect(shown).toEqual(['waits']);
  page.visibilityState = 'visible';
  page.dispatchEvent(new Event('visibilitychange'));
  await settled();
  expect(shown).toEqual([]);
  page.visibilityState = 'hidden';
  page.dispatchEvent(new Event('visibilitychange'));
  await settled();
  expect(shown).toEqual(['waits']);
  withdrawApproval('waits');
  await settled();
  expect(shown).toEqual([]);
});

test('a late service worker updates the permission state and pending approvals', async () => {
  workers.controller = null;
  const told: string[] = [];
  const end = watchNotifications((state) => told.push(state));
  beginNotifications();
  notifyApproval(approval('waits'));
  await settled();
  expect([told, shown]).toEqual([['unsupported'], []]);
  workers.controller = {};
  workers.dispatchEvent(new Event('controllerchange'));
  await settled();
  expect([told, shown]).toEqual([['unsupported', 'granted'], ['waits']]);
  end();
  withdrawApproval('waits');
});
