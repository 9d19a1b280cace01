// Sub-agents of a real ACP agent, and an agent that is not logged in.

import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
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

test('a sub-agent has its rows below its card, asks there, and can be stopped alone', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.ask(tab, '[[subagent notes.md]] [[say All done.]]');
  const card = page.getByRole('article', { name: 'Sub-agent: Look around' });
  await card.getByText(/^waiting for approval · /).waitFor();
  await card.getByRole('list', { name: 'Activity of Sub-agent' }).getByText('Looking around.').waitFor();
  await tab.shootAll('subagent-waiting');
  // A page that opens later has the request in the same place.
  const two = await stage.follow(browser, tab, { size: 'phone' });
  const other = two.page.getByRole('article', { name: 'Sub-agent: Look around' });
  await other.getByText(/^waiting for approval · /).waitFor();
  await two.close();
  await card.getByRole('button', { name: 'Yes', exact: true }).click();
  await card.locator('.status', { hasText: 'done' }).waitFor();
  await page.getByText('All done.', { exact: true }).waitFor();
  await access(join(stage.fixture.workspace, 'notes.md'));
  await card.getByText('notes.md: completed.').first().waitFor();
  assert.equal(await card.getByRole('button', { name: 'Open', exact: true }).count(), 0, 'it has no session here');
  await tab.shootAll('subagent-done');
  await page.reload();
  await card.locator('.status', { hasText: 'done' }).waitFor();

  await stage.prompt(tab, '[[subagent]] [[say The rest is done.]]');
  const second = card.nth(1);
  await second.getByRole('button', { name: 'Stop' }).click();
  await second.locator('.status', { hasText: 'cancelled' }).waitFor();
  await page.getByText('The rest is done.', { exact: true }).waitFor();
  await tab.close();
});

test('an agent that is not logged in says so, and the prompt can be sent again', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.ask(tab, '[[refuse-login Please log in first.]]');
  const bar = page.getByRole('group', { name: 'Login' });
  await bar.getByText('Fake is not logged in.').waitFor();
  await tab.shootAll('logged-out');
  await bar.getByRole('button', { name: 'Try again' }).click();
  await page.locator('.user p', { hasText: 'refuse-login' }).nth(1).waitFor();
  await bar.getByText('Fake is not logged in.').waitFor();
  // A turn that succeeds shows that it is.
  await stage.prompt(tab, '[[say Here I am.]]');
  await page.getByText('Here I am.', { exact: true }).waitFor();
  await bar.waitFor({ state: 'detached' });
  await tab.close();
});
