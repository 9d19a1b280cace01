// The connection to the bridge: token, loss and return.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { WISH } from './fixture.mjs';
import { browser, restartServer, server } from './stage.mjs';

const BROKEN = /WebSocket connection to .* failed|ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|401/;

test('the token leaves the address bar at once and lasts as long as the tab', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  assert.equal(page.url(), `${server.origin}/`);
  const kept = await page.evaluate(() => JSON.stringify(localStorage));
  assert.ok(!kept.includes(server.token) && !/token/i.test(kept), kept);
  await page.reload();
  await tab.live();
  await tab.close();
});

test('a wrong token and a missing one each say what to do', async () => {
  for (const [address, sentence] of [
    [`${server.origin}/#token=wrong`, 'OpenAgents was restarted. Open the address that openagents serve printed.'],
    [`${server.origin}/`, 'This page has no token. Run openagents serve and open the address it prints.'],
  ]) {
    const tab = await Tab.open(browser);
    tab.expected.push(BROKEN);
    await tab.page.goto(address);
    await tab.page.locator('[data-link=refused]').waitFor();
    assert.equal((await tab.page.getByRole('alert').locator('p').innerText()).replaceAll('`', ''), sentence);
    await tab.shoot('refused');
    await tab.shootNarrow('refused');
    // The right URL, opened in the same tab, fixes it.
    await tab.page.goto(server.address);
    await tab.live();
    await tab.close();
  }
});

test('a reloaded page shows the same session, complete and once', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const updates = await page.locator('[data-updates]').getAttribute('data-updates');
  const size = () => page.locator('[data-index][aria-posinset]').first().getAttribute('aria-setsize');
  const rows = await size();
  await page.reload();
  await page.locator('[data-summary]').waitFor();
  await page.locator(`[data-updates="${updates}"]`).waitFor();
  assert.equal(await size(), rows);
  assert.match(await page.locator('[data-summary]').innerText(), new RegExp(WISH, 'i'));
  await page.goBack();
  await page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
  await page.goForward();
  await page.locator('[data-summary]').waitFor();
  await tab.close();
});

test('when the server is back the session continues, with nothing twice', async () => {
  const tab = await Tab.open(browser);
  tab.expected.push(BROKEN);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  // Only the rows around what is visible are in the document.
  const count = () => rows.first().getAttribute('aria-setsize');
  const before = await count();
  await server.stop();
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  await page.getByText('You can send once connected', { exact: false }).waitFor();
  await tab.shoot('offline');
  await tab.shootNarrow('offline');
  // The server is still down; a manual attempt does not end the automatic ones.
  await page.getByRole('button', { name: 'Reconnect', exact: true }).click();
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  await restartServer();
  await tab.live();
  assert.equal(await count(), before);
  await page.getByLabel('Prompt', { exact: true }).fill('Where is pair called?');
  await page.keyboard.press('Enter');
  await page.locator('[data-findings]').last().waitFor();
  assert.equal(await page.locator('[data-row] p', { hasText: 'Where is pair called?' }).count(), 1);
  await tab.close();
});

test('a prompt that is not received comes back into the composer', async () => {
  const tab = await Tab.open(browser);
  tab.expected.push(BROKEN);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const prompt = page.getByLabel('Prompt', { exact: true });
  server.freeze();
  await prompt.fill('Which test is flaky?');
  await prompt.press('Enter');
  await page.getByText(/^Working \(\d+s\)$/).waitFor();
  await server.crash();
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  await restartServer();
  await tab.live();
  await page.getByRole('alert').getByText("Not sent; it's back in the composer.").waitFor();
  assert.equal(await prompt.inputValue(), 'Which test is flaky?');
  await tab.atRest();
  assert.equal(await page.getByText(/^Working/).count(), 0);
  await tab.shoot('not-arrived');
  await tab.shootNarrow('not-arrived');
  await prompt.press('Enter');
  await page.locator('[data-findings]').last().waitFor();
  assert.equal(await page.locator('[data-row] p', { hasText: 'Which test is flaky?' }).count(), 1);
  assert.equal(await page.getByRole('alert').count(), 0);
  await tab.close();
});

test('a silent server counts as offline until it answers again', async () => {
  const tab = await Tab.open(browser);
  tab.expected.push(BROKEN);
  const { page } = tab;
  await page.clock.install();
  await page.goto(server.address);
  await tab.live();
  server.freeze();
  // The next pulse, and the wait for its answer.
  await page.clock.runFor(16_000);
  await page.clock.runFor(11_000);
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  server.thaw();
  await tab.live();
  await tab.close();
});

test('a second page follows the first one live', async () => {
  const [one, two] = [await Tab.open(browser), await Tab.open(browser, { size: 'phone' })];
  await one.page.goto(server.address);
  await one.live();
  await one.explore();
  await two.page.goto(`${server.address}&${new URL(one.page.url()).hash.slice(1)}`);
  await two.page.locator('[data-summary]').waitFor();
  await one.page.getByLabel('Prompt', { exact: true }).fill('Which tests cover it?');
  await one.page.keyboard.press('Enter');
  await two.page.locator('[data-row] p', { hasText: 'Which tests cover it?' }).waitFor();
  await two.page.locator('[data-findings]').last().waitFor();
  await one.close();
  await two.close();
});
