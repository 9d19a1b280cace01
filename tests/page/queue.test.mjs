// The queue of a session: every device sees it, with the sender, and may remove prompts.

import assert from 'node:assert/strict';
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

const queued = (page) => page.locator('[data-queued]');

test('the queue is shown on every device, and a removed prompt never runs', async () => {
  const one = await stage.open(browser);
  await stage.ask(one, '[[ask Paint the harbour]]');
  await one.page.locator('[data-approval-state=pending]').waitFor();
  const two = await stage.follow(browser, one, { size: 'phone' });
  await stage.prompt(one, 'First in the queue');
  await stage.prompt(one, 'Second in the queue');
  await two.page.locator('[data-sheet]').getByRole('button', { name: 'Later' }).click();
  for (const { page } of [one, two]) {
    await queued(page).nth(1).waitFor();
    assert.deepEqual(await queued(page).locator('.text').allInnerTexts(), [
      'First in the queue',
      'Second in the queue',
    ]);
    assert.deepEqual(await queued(page).locator('.by').allInnerTexts(), ['Browser', 'Browser']);
    for (const text of ['First in the queue', 'Second in the queue'])
      assert.equal(await page.locator('.user p', { hasText: text }).count(), 1, 'it stands in the timeline once');
  }
  await one.shootAll('queue');
  await two.shoot('queue');
  await queued(two.page)
    .first()
    .getByRole('button', { name: /^Remove “First in the queue”/ })
    .click();
  for (const { page } of [one, two]) {
    await queued(page).nth(1).waitFor({ state: 'detached' });
    await page.locator('.user p.removed', { hasText: 'First in the queue' }).waitFor();
  }
  await one.shoot('queue-removed');
  await one.page.locator('[data-approval-state=pending]').getByRole('button', { name: 'Yes', exact: true }).click();
  for (const { page } of [one, two]) {
    await page.getByText('You said: Second in the queue', { exact: false }).waitFor();
    await queued(page).first().waitFor({ state: 'detached' });
    assert.equal(await page.getByText('You said: First in the queue', { exact: false }).count(), 0);
  }
  await one.atRest();
  await two.atRest();
  await one.close();
  await two.close();
});

test('a sent prompt becomes the logged one, once, even if another client sends the same text', async () => {
  const one = await stage.open(browser);
  await stage.ask(one, 'Say hello');
  await one.page.getByText('You said: Say hello', { exact: false }).waitFor();
  await one.atRest();
  const two = await stage.follow(browser, one);
  await two.page.getByText('You said: Say hello', { exact: false }).waitFor();
  // The number of rows with the text, at every change of the page.
  await one.page.evaluate(() => {
    globalThis.most = 0;
    new MutationObserver(() => {
      const count = [...document.querySelectorAll('.user p')].filter((row) =>
        row.textContent.startsWith('Twice'),
      ).length;
      globalThis.most = Math.max(globalThis.most, count);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await stage.prompt(one, 'Twice');
  await one.page.getByText('You said: Twice', { exact: false }).waitFor();
  await one.atRest();
  assert.equal(await one.page.evaluate(() => globalThis.most), 1);
  await stage.prompt(two, 'Twice');
  for (const { page } of [one, two]) await page.getByText('You said: Twice', { exact: false }).nth(1).waitFor();
  await one.atRest();
  for (const { page } of [one, two]) assert.equal(await page.locator('.user p', { hasText: 'Twice' }).count(), 2);
  await one.close();
  await two.close();
});

test('the first prompt in the queue is sent now: the turn stops, the others keep waiting', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.ask(tab, '[[silent]]');
  await stage.prompt(tab, 'Do this instead');
  await stage.prompt(tab, '[[ask Paint the harbour]]');
  await queued(page).nth(1).waitFor();
  const now = page.getByRole('button', { name: 'Send now' });
  assert.equal(await now.count(), 1, 'only the first');
  await tab.shootAll('send-now');
  await now.press('Enter');
  await page.getByText('You said: Do this instead', { exact: false }).waitFor();
  await page.locator('[data-approval-state=pending]').waitFor();
  await queued(page).first().waitFor({ state: 'detached' });
  await page.locator('[data-approval-state=pending]').getByRole('button', { name: 'Yes', exact: true }).click();
  await tab.atRest();
  await tab.close();
});
