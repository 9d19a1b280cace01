// The page as an app: installability, caching and notifications.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { approval, call, Played } from './played.mjs';
import { browser, server } from './stage.mjs';

async function installed() {
  const tab = await Tab.open(browser, { size: 'phone', workers: 'allow', permissions: ['notifications'] });
  await tab.page.goto(server.address);
  await tab.live();
  await tab.page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  return tab;
}

test('the page is installable', async () => {
  const tab = await installed();
  const cdp = await tab.context.newCDPSession(tab.page);
  const { errors, manifest } = await cdp.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  assert.equal(manifest.display, 'kStandalone');
  const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors');
  // Every context of a test is a private window.
  assert.deepEqual(
    installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'),
    [],
  );
  await tab.close();
});

test("the page's files are cached, the bridge's data is not", async () => {
  const tab = await installed();
  const { page } = tab;
  await tab.explore();
  // This server has no certificate authority: its response is not cached.
  tab.expected.push(/404/);
  await page.evaluate(() => fetch('/ca.pem').then((answer) => answer.text()));
  const kept = await page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return { names: names.length, paths: requests.flat().map(({ url }) => new URL(url).pathname) };
  });
  assert.equal(kept.names, 1);
  assert.ok(kept.paths.includes('/'));
  assert.deepEqual(
    kept.paths.filter((path) => !/^\/(?:$|assets\/|icons\/|favicon\.svg$|manifest\.webmanifest$)/.test(path)),
    [],
  );
  await tab.close();
});

test('an outdated page says so', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  // The bridge was updated while the page stayed open: its page now names another script.
  await page.route(`${server.origin}/`, async (route) => {
    if (route.request().isNavigationRequest()) return route.continue();
    const answer = await route.fetch();
    await route.fulfill({
      response: answer,
      body: (await answer.text()).replace(/assets\/index-[\w-]+\.js/, 'assets/index-newer.js'),
    });
  });
  await page.goto(server.address);
  await tab.live();
  const reload = page.getByRole('button', { name: 'Reload to update' });
  await reload.waitFor();
  await tab.shoot('update');
  await page.unroute(`${server.origin}/`);
  await reload.click();
  await tab.live();
  await reload.waitFor({ state: 'detached' });
  await tab.close();
});

test('a pending approval of a hidden page is notified, opens its session on click, and is withdrawn once answered', async () => {
  const tab = await Tab.open(browser, { size: 'phone', workers: 'allow', permissions: ['notifications'] });
  const { page } = tab;
  const played = await Played.on(page);
  await page.goto(server.address);
  await tab.live();
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  await tab.explore();
  await tab.atRest();
  await played.follow(page);
  const looks = (state) =>
    page.evaluate((state) => {
      Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
      document.dispatchEvent(new Event('visibilitychange'));
    }, state);
  const shows = (expected) =>
    page.waitForFunction(async (expected) => {
      const registration = await navigator.serviceWorker.ready;
      const shown = await registration.getNotifications();
      return JSON.stringify(shown.map(({ tag, title, body }) => [tag, title, body])) === JSON.stringify(expected);
    }, expected);
  const told = [['approval-run', 'Codex is waiting', 'Run cargo test']];

  // A stale one of an earlier page.
  await page.evaluate(async () =>
    (await navigator.serviceWorker.ready).showNotification('Codex is waiting', {
      tag: 'approval-old',
      data: { sessionId: 'old' },
    }),
  );
  await looks('hidden');
  await shows([]);

  played.update(call('run', { name: 'shell', title: 'cargo test', kind: 'execute' }));
  played.update(approval('run', {}));
  await shows(told);

  // The page receives the session of the clicked notification. A headless browser has no notification to click.
  await page.evaluate(() => (location.hash = ''));
  const [worker] = tab.context.serviceWorkers();
  await worker.evaluate(async () => {
    let notification;
    // A repeated notification replaces itself and is absent for a moment.
    while (notification === undefined) [notification] = await self.registration.getNotifications();
    const click = new NotificationEvent('notificationclick', { notification });
    // A synthetic event may neither extend the worker's life nor focus a window.
    click.waitUntil = (shown) => void shown.catch(() => undefined);
    self.dispatchEvent(click);
  });
  await page.waitForFunction((hash) => location.hash === hash, `#session=${encodeURIComponent(played.session)}`);
  await shows([]);

  // Withdrawn when the page is visible, shown again when it is hidden, gone once answered.
  await looks('visible');
  await looks('hidden');
  await shows(told);
  played.update(approval('run', { state: 'answered', optionId: 'allow', by: 'Desktop', at: Date.now() }));
  await shows([]);
  await tab.close();
});
