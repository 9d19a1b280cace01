// The page as an app: what a phone needs to install it, what is kept there, and notifications.

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

test('the browser finds nothing that keeps the page from being installed', async () => {
  const tab = await installed();
  const cdp = await tab.context.newCDPSession(tab.page);
  const { errors, manifest } = await cdp.send('Page.getAppManifest');
  assert.deepEqual(errors, []);
  assert.equal(manifest.display, 'kStandalone');
  const { installabilityErrors } = await cdp.send('Page.getInstallabilityErrors');
  // Every context of a test is a private window.
  assert.deepEqual(installabilityErrors.filter(({ errorId }) => errorId !== 'in-incognito'), []);
  await tab.close();
});

test('the files of the page are kept, and nothing that the bridge says', async () => {
  const tab = await installed();
  const { page } = tab;
  await tab.explore();
  // This server has no certificate authority: whatever it answers is not kept.
  tab.expected.push(/404/);
  await page.evaluate(() => fetch('/ca.pem').then((answer) => answer.text()));
  const kept = await page.evaluate(async () => {
    const names = await caches.keys();
    const requests = await Promise.all(names.map(async (name) => (await caches.open(name)).keys()));
    return { names: names.length, paths: requests.flat().map(({ url }) => new URL(url).pathname) };
  });
  assert.equal(kept.names, 1);
  assert.ok(kept.paths.includes('/'));
  assert.deepEqual(kept.paths.filter((path) => !/^\/(?:$|assets\/|icons\/|favicon\.svg$|manifest\.webmanifest$)/.test(path)), []);
  await tab.close();
});

test('a page that is older than the one that is served says so', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  // The bridge was updated while the page stayed open: what it serves now names another script.
  await page.route(`${server.origin}/`, async (route) => {
    if (route.request().isNavigationRequest()) return route.continue();
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace(/assets\/index-[\w-]+\.js/, 'assets/index-newer.js') });
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

test('an approval that waits while nobody looks is notified, opens its session by a click, and is withdrawn with its answer', async () => {
  const tab = await Tab.open(browser, { size: 'phone', workers: 'allow', permissions: ['notifications'] });
  const { page } = tab;
  const played = await Played.on(page);
  await page.goto(server.address);
  await tab.live();
  await page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
  await tab.explore();
  await tab.atRest();
  played.follow(page);
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

  // One that an earlier page showed, and that waits no more.
  await page.evaluate(async () => (await navigator.serviceWorker.ready).showNotification('Codex is waiting', { tag: 'approval-old', data: { sessionId: 'old' } }));
  await looks('hidden');
  await shows([]);

  played.update(call('run', { name: 'shell', title: 'cargo test', kind: 'execute' }));
  played.update(approval('run', {}));
  await shows(told);

  // The page that is clicked to is told which session: nobody can press a notification of a browser without a screen.
  await page.evaluate(() => (location.hash = ''));
  const [worker] = tab.context.serviceWorkers();
  await worker.evaluate(async () => {
    let notification;
    // Told again it replaces itself, and is not there for a moment.
    while (notification === undefined) [notification] = await self.registration.getNotifications();
    const click = new NotificationEvent('notificationclick', { notification });
    // One that no person caused may not put off the worker's end, nor bring a window to the front.
    click.waitUntil = (shown) => void shown.catch(() => undefined);
    self.dispatchEvent(click);
  });
  await page.waitForFunction((hash) => location.hash === hash, `#session=${encodeURIComponent(played.session)}`);
  await shows([]);

  // Seen, it is taken back; out of sight again it is told again, and answered it is over.
  await looks('visible');
  await looks('hidden');
  await shows(told);
  played.update(approval('run', { state: 'answered', optionId: 'allow', by: 'Desktop', at: Date.now() }));
  await shows([]);
  await tab.close();
});
