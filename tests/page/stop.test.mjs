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

test('Stop ends a run: the plan says so, and no step stays open', async () => {
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
  await page.getByRole('button', { name: 'Send' }).waitFor();
  await tab.shoot('cancelled');
  await tab.close();
});
