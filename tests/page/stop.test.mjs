// A run that takes long enough to be stopped.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, Tab } from './browser.mjs';
import { Fixture } from './fixture.mjs';
import { Server } from './server.mjs';

let fixture, server, browser;
before(async () => {
  fixture = await (await Fixture.create()).slow();
  [server, browser] = await Promise.all([Server.start(fixture), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.stop();
  await fixture?.remove();
});

test('a run whose server was killed is settled when the server is back', async () => {
  const tab = await Tab.open(browser);
  tab.expected.push(/WebSocket connection to .* failed|ERR_CONNECTION_REFUSED/);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('[data-plan=running]').waitFor();
  await page.locator('[data-tool]').first().waitFor();
  await server.crash();
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  server = await server.again();
  await tab.live();
  await page.locator('[data-plan=failed]').getByText('Plan Failed').waitFor();
  await tab.atRest();
  assert.equal(await page.locator('[data-step=pending], [data-step=running]').count(), 0);
  assert.equal(await page.locator('[data-state=pending], [data-state=running]').count(), 0);
  await tab.shoot('killed');
  await tab.shootNarrow('killed');
  // A page that opens the session only now shows the same.
  await page.reload();
  await page.locator('[data-plan=failed]').waitFor();
  await tab.atRest();
  await tab.close();
});

test('prompts sent during a turn are queued; Stop clears the queue', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('[data-plan=running]').waitFor();
  const prompt = page.getByLabel('Prompt', { exact: true });
  for (const text of ['Which file is open?', 'And who calls it?']) {
    await prompt.fill(text);
    await prompt.press('Enter');
    await page.locator('[data-row] p', { hasText: text }).waitFor();
  }
  assert.equal(await prompt.inputValue(), '');
  await tab.shoot('queued');
  await tab.shootNarrow('queued');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Exploration cancelled.').waitFor();
  await page.getByText('Cancelled before it began.').nth(1).waitFor();
  await tab.atRest();
  await tab.shoot('queue-cancelled');
  await tab.close();
});

test('Stop ends a run: the plan says so, and no step stays pending', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await page.getByRole('button', { name: 'Start' }).click();
  await page.locator('[data-plan=running]').waitFor();
  await tab.shoot('running');
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.locator('[data-plan=cancelled]').waitFor();
  await page.getByText('Exploration cancelled.').waitFor();
  assert.match(await page.getByRole('region', { name: 'Plan' }).innerText(), /^Plan Cancelled/);
  assert.equal(await page.locator('[data-step=pending], [data-step=running]').count(), 0);
  assert.equal(await page.locator('[data-state=pending], [data-state=running]').count(), 0);
  await tab.atRest();
  await tab.shoot('cancelled');
  await tab.close();
});
