// The link to the bridge: its token, its end, its return.

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
  assert.equal(await page.evaluate(() => JSON.stringify(localStorage)), '{}');
  await page.reload();
  await tab.live();
  await tab.close();
});

test('a wrong token and a missing one each get a sentence that says what to do', async () => {
  for (const [address, sentence] of [
    [`${server.origin}/#token=wrong`, "This page's token is not valid any more. Run openagents serve and open the address that it prints."],
    [`${server.origin}/`, 'This page has no token. Run openagents serve and open the address that it prints.'],
  ]) {
    const tab = await Tab.open(browser);
    tab.expected.push(BROKEN);
    await tab.page.goto(address);
    await tab.page.locator('[data-link=refused]').waitFor();
    assert.equal((await tab.page.getByRole('alert').locator('p').innerText()).replaceAll('`', ''), sentence);
    await tab.shoot('refused');
    await tab.shootNarrow('refused');
    // The right address, opened in the same tab, mends it.
    await tab.page.goto(server.address);
    await tab.live();
    await tab.close();
  }
});

test('a page that is loaded again shows the same session, whole and once', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const updates = await page.getByText(/^\d+ updates$/).innerText();
  const rows = await page.getByRole('list', { name: 'Timeline' }).getByRole('listitem').count();
  await page.reload();
  await page.locator('[data-summary]').waitFor();
  await page.getByText(updates, { exact: true }).waitFor();
  assert.equal(await page.getByRole('list', { name: 'Timeline' }).getByRole('listitem').count(), rows);
  assert.match(await page.locator('[data-summary]').innerText(), new RegExp(WISH, 'i'));
  await page.goBack();
  await page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
  await page.goForward();
  await page.locator('[data-summary]').waitFor();
  await tab.close();
});

test('when the server comes back the session goes on, with nothing twice', async () => {
  const tab = await Tab.open(browser);
  tab.expected.push(BROKEN);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  const count = await rows.count();
  await server.stop();
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();
  await page.getByText('A prompt can be sent again when the link is back.', { exact: false }).waitFor();
  await tab.shoot('offline');
  await tab.shootNarrow('offline');
  // Nobody is there yet; a person's try does not end the page's own.
  await page.getByRole('button', { name: 'Reconnect', exact: true }).click();
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();
  await restartServer();
  await tab.live();
  assert.equal(await rows.count(), count);
  await page.getByLabel('Prompt', { exact: true }).fill('Where is pair called?');
  await page.keyboard.press('Enter');
  await page.locator('[data-findings]').last().waitFor();
  assert.equal(await page.locator('[data-row] p', { hasText: 'Where is pair called?' }).count(), 1);
  await tab.close();
});

test('a prompt that never arrives comes back into the composer', async () => {
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
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();
  await restartServer();
  await tab.live();
  await page.getByRole('alert').getByText('Your prompt did not arrive.').waitFor();
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

test('a server that falls silent counts as offline, until it answers again', async () => {
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
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();
  server.thaw();
  await tab.live();
  await tab.close();
});

test('a second page sees what the first one does, as it happens', async () => {
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
