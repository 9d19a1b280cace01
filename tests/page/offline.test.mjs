// Offline: the page opens, stored sessions can be read, and it continues when the network is back.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { RemoteStage } from './remote-stage.mjs';

const BROKEN = /WebSocket connection|ERR_|401|403|Failed to load resource|Failed to fetch/;

let stage;
before(async () => {
  stage = await RemoteStage.set();
});
after(() => stage?.strike());

/** The number of updates that the page has. */
const updatesOf = ({ page }) => page.locator('[data-updates]').getAttribute('data-updates');
const prompt = ({ page }) => page.getByLabel('Prompt', { exact: true });

/** The service worker controls the page and has cached it. */
const installed = ({ page }) => page.waitForFunction(() => navigator.serviceWorker.controller?.state === 'activated');
/** The number of stored sessions. Opening a missing database would create an empty one. */
const keeps = ({ page }, expected) =>
  page.waitForFunction(async (expected) => {
    if (!(await indexedDB.databases()).some(({ name }) => name === 'openagents')) return false;
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const db = await done(indexedDB.open('openagents'));
    const count = await done(db.transaction('folds').objectStore('folds').count());
    db.close();
    return count === expected;
  }, expected);

/** The whole session is stored, and its turn is over. */
const keepsAll = ({ page }, updates) =>
  page.waitForFunction(async (updates) => {
    const done = (request) => new Promise((resolve) => (request.onsuccess = () => resolve(request.result)));
    const db = await done(indexedDB.open('openagents'));
    const folds = await done(db.transaction('folds').objectStore('folds').getAll());
    db.close();
    return folds.some(
      (fold) => fold.updates === updates && !fold.working && fold.rows.some((row) => row.summary !== undefined),
    );
  }, updates);

test('an offline phone opens the page, shows the last session, and continues when it is back online', async () => {
  const tab = await stage.phone({ workers: 'allow' });
  tab.expected.push(BROKEN);
  const { page } = tab;
  await installed(tab);
  await tab.explore();
  const updates = await updatesOf(tab);
  await keeps(tab, 1);
  await keepsAll(tab, Number.parseInt(updates));
  await stage.server.stop();
  await page.reload();
  await page.getByText(/^Offline · last updated \d\d:\d\d$/).waitFor();
  await page.locator('[data-summary]').waitFor();
  assert.equal(await updatesOf(tab), updates);
  await prompt(tab).fill('Where is pair called?');
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'nothing can be sent');
  await tab.shoot('read-offline');
  await page.getByRole('button', { name: 'Sessions', exact: true }).click();
  await page.getByRole('dialog', { name: 'Sessions' }).getByText('harbour').first().waitFor();
  await page.keyboard.press('Escape');
  stage.server = await stage.server.again();
  await tab.live();
  await page.getByText(/^Offline · last updated/).waitFor({ state: 'detached' });
  assert.equal(await updatesOf(tab), updates);
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('[data-findings]').last().waitFor();
  await tab.close();
});

test('a removed device deletes its stored sessions', async () => {
  const tab = await stage.phone();
  tab.expected.push(BROKEN);
  const { page } = tab;
  await tab.explore();
  await keeps(tab, 1);
  const { devices } = await stage.cli('devices', 'list');
  const newest = devices.sort((a, b) => b.createdAt - a.createdAt)[0];
  await stage.cli('devices', 'revoke', newest.id, '--yes');
  await page.locator('[data-link=removed]').waitFor();
  await keeps(tab, 0);
  await tab.close();
});
