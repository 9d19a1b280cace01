// Work delegated from an exploration to a real ACP agent: shown live on two pages, approved on one,
// cancelled on the other.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AgentsStage } from './agents-stage.mjs';
import { launch } from './browser.mjs';

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([AgentsStage.set(), launch()]);
  const tab = await stage.open(browser);
  await stage.addFake(tab);
  await tab.close();
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

/** Explores and delegates the summary with another task. */
async function delegated(words, change = async () => undefined) {
  const tab = await stage.open(browser);
  const { page } = tab;
  await tab.explore();
  await tab.atRest();
  await page.getByRole('button', { name: 'Delegate…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delegate' });
  await dialog.getByLabel('Agent').selectOption('custom:fake');
  await dialog.getByLabel('Task').fill(`Finish it. ${words}`);
  await dialog.getByLabel('Ask for a summary').uncheck();
  await change(dialog);
  await dialog.getByRole('button', { name: /^(Delegate|Try)$/ }).click();
  await dialog.waitFor({ state: 'detached' });
  const card = page.locator('[data-delegate="custom:fake"]');
  await card.waitFor();
  return { tab, page, card };
}

test('delegated work is shown on two pages, approved on one, and its change is next to the brief', async () => {
  const { tab, card } = await delegated('[[think About it]] [[edit harbour.md]] [[say All done here.]]');
  const two = await stage.follow(browser, tab, { size: 'phone' });
  const other = two.page.locator('[data-delegate="custom:fake"]');
  await card.getByText(/^waiting for approval · /).waitFor();
  await other.getByText(/^waiting for approval · /).waitFor();
  await tab.shootAll('delegate-real-waiting');
  await two.page.locator('[data-sheet]').getByRole('button', { name: 'Yes', exact: true }).click();
  for (const shown of [card, other]) {
    await shown.locator('.status', { hasText: 'done' }).waitFor();
    await shown.getByRole('region', { name: 'Changes', exact: true }).locator('[data-diff="harbour.md"]').waitFor();
  }
  assert.equal(await readFile(join(stage.fixture.workspace, 'harbour.md'), 'utf8'), 'made by fake-agent\n');
  assert.match(await card.getByRole('region', { name: 'Brief' }).innerText(), /Done when:/);
  await tab.atRest();
  await tab.shootAll('delegate-real-done');
  await card.getByRole('button', { name: /^Activity/ }).click();
  await card.getByRole('list', { name: 'Activity of Fake' }).getByText('All done here.').waitFor();
  await card.getByText('Allowed on Browser').waitFor();

  await card.getByRole('button', { name: 'Open', exact: true }).click();
  await tab.page.locator('.message', { hasText: 'All done here.' }).waitFor();
  // The delegate has a session of its own.
  await card.waitFor({ state: 'detached' });
  await tab.close();
  await two.close();
});

test('Stop ends the delegate, from any page', async () => {
  const { tab, card } = await delegated('[[silent]]');
  const two = await stage.follow(browser, tab);
  const other = two.page.locator('[data-delegate="custom:fake"]');
  await other.locator('.status', { hasText: 'working' }).waitFor();
  await other.getByRole('button', { name: 'Stop', exact: true }).click();
  for (const shown of [card, other]) await shown.locator('.status', { hasText: 'cancelled' }).waitFor();
  await tab.atRest();
  await tab.shoot('delegate-stopped');
  await tab.close();
  await two.close();
});

test("a delegate's crash is shown, and the session continues", async () => {
  const { tab, card } = await delegated('[[crash]]');
  await card.locator('.status', { hasText: 'failed' }).waitFor();
  await card.getByText('the script says crash', { exact: false }).first().waitFor();
  await tab.atRest();
  await tab.shoot('delegate-crashed');
  await tab.close();
});

test('a dry run shows the request without sending it', async () => {
  const { tab, card } = await delegated('[[edit never.md]]', (dialog) => dialog.getByLabel('Dry run').check());
  await card.getByText('dry run, not sent', { exact: false }).waitFor();
  await tab.atRest();
  await tab.close();
});

test('a workspace outside is refused in the card', async () => {
  const { tab, card } = await delegated('[[edit never.md]]', (dialog) => dialog.getByLabel('Workspace').fill('/usr'));
  await card.locator('.status', { hasText: 'failed' }).waitFor();
  await tab.atRest();
  await tab.shoot('delegate-refused');
  await tab.close();
});
