// A session with the local model: the real server, the real engine, a small scripted gpt-oss.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, Tab } from './browser.mjs';
import { ModelsStage } from './models-stage.mjs';

const ANSWER = 'This folder holds a small project.';

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([ModelsStage.set({ ready: true }), launch()]);
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

async function opened({ server } = stage) {
  const tab = await Tab.open(browser);
  await tab.page.goto(server.address);
  await tab.live();
  return tab;
}

const local = (page) => page.locator('[data-mode=gptoss_20b]');
const start = (page) => page.getByRole('button', { name: 'Start' });

test('a missing model cannot be chosen but leads to its setup', async (t) => {
  const bare = await ModelsStage.set();
  t.after(() => bare.strike());
  const tab = await opened(bare);
  const { page } = tab;
  await page.getByRole('button', { name: /^Agent: / }).click();
  const setup = page.getByRole('menuitemradio', { name: /^GPTOSS 20B\s*LOCAL\s*not downloaded\s*Set up$/ });
  await setup.waitFor();
  assert.equal(await local(page).count(), 0);
  await tab.shootAll('start-not-downloaded');
  await page.keyboard.press('Escape');
  await page.getByLabel('Goals').fill('one');
  await page.getByRole('button', { name: /^Agent: / }).click();
  await setup.click();
  await page.getByRole('heading', { name: 'Models' }).waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.getByLabel('Goals').inputValue(), 'one');
  // It was available when it was chosen, and no longer is.
  await page.evaluate(() => localStorage.setItem('openagents.mode', 'gptoss_20b'));
  await page.reload();
  await page.locator('[data-mode=gptoss_20b]', { hasText: 'not downloaded' }).waitFor();
  assert.ok(await start(page).isDisabled());
  await tab.shootAll('start-local-unavailable');
  await tab.pick('default_mode');
  await page.getByLabel('Goals').waitFor();
  assert.ok(await start(page).isEnabled());
  await tab.close();
});

test('the start page asks the local model and remembers the choice', async () => {
  const tab = await opened();
  const { page } = tab;
  await tab.pick('gptoss_20b');
  const prompt = page.getByLabel('Prompt', { exact: true });
  await start(page).click();
  await page.getByRole('alert').getByText('Enter a prompt').waitFor();
  assert.ok(await prompt.evaluate((field) => field === document.activeElement));
  await prompt.fill('What is in this folder?');
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await tab.shootAll('start-local');
  await prompt.press('Control+Enter');
  await page.getByText(ANSWER).waitFor();
  await tab.atRest();
  assert.equal(
    await page.locator('[data-row] p', { hasText: 'What is in this folder?' }).count(),
    1,
    'the prompt is shown once',
  );
  assert.ok(await local(page).isVisible());
  assert.equal(
    await page.getByRole('region', { name: 'Plan' }).count(),
    0,
    'there is no plan where nothing is planned',
  );
  await tab.shootAll('local-answered');

  await page.getByRole('button', { name: 'New exploration' }).click();
  await page.locator('[data-mode=gptoss_20b]').waitFor();
  assert.equal(await prompt.inputValue(), '');
  await page.reload();
  await page.locator('[data-mode=gptoss_20b]').waitFor();
  await tab.close();
});

test('a missing folder is refused in the form, and the prompt stays', async () => {
  const tab = await opened();
  const { page } = tab;
  await tab.pick('gptoss_20b');
  await page.getByLabel('Workspace', { exact: true }).fill('/no/such/folder');
  await page.getByLabel('Prompt', { exact: true }).fill('What is here?');
  await start(page).click();
  await page.getByRole('alert').getByText('Path does not exist').waitFor();
  assert.equal(await page.getByLabel('Prompt', { exact: true }).inputValue(), 'What is here?');
  await tab.close();
});

test('a question is answered from search results, and its citation is checked', async (t) => {
  const finder = await ModelsStage.set({ ready: true, script: 'finder' });
  t.after(() => finder.strike());
  const tab = await opened(finder);
  const { page } = tab;
  await tab.pick('default_mode');
  await page.getByLabel('Goals').fill('Where is a pairing code checked?');
  await page.getByRole('button', { name: 'Ask instead' }).click();
  await page.locator('[data-finding]', { hasText: 'pair.rs' }).first().waitFor();
  const answer = page.locator('.message', { hasText: 'It gives a bool at' });
  await answer.waitFor();
  await tab.atRest();
  assert.match(await answer.innerText(), /src\/pair\.rs:3/);
  assert.doesNotMatch(await answer.innerText(), /Not grounded|could not be confirmed/);
  await tab.shootAll('question-model');
  await tab.close();
});

test('an answer is stopped where it is shown', async () => {
  const tab = await opened();
  const { page } = tab;
  await tab.pick('gptoss_20b');
  await page.getByLabel('Prompt', { exact: true }).fill('Tell me, and loop');
  await start(page).click();
  await page.locator('[data-activity]', { hasText: /tokens\/s/ }).waitFor();
  await page.locator('.message', { hasText: 'tick tick' }).waitFor();
  await tab.shootAll('local-generating');
  await page.getByRole('button', { name: 'Stop answer' }).click();
  await page.locator('[data-activity]').waitFor({ state: 'detached' });
  await tab.atRest();
  await tab.shootAll('local-stopped');
  await tab.close();
});

test('the newest words of an answer continue on the same line', async () => {
  const tab = await opened();
  const { page } = tab;
  await tab.pick('gptoss_20b');
  await page.getByLabel('Prompt', { exact: true }).fill('Tell me, and loop');
  // They follow the rendered text for a moment only.
  await page.evaluate(() => {
    new MutationObserver(() => {
      const tail = document.querySelector('.message p + .tail');
      if (tail === null) return;
      const inline = tail.getBoundingClientRect().top < tail.previousElementSibling.getBoundingClientRect().bottom;
      document.documentElement.dataset.tail = inline ? 'inline' : 'below';
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await start(page).click();
  await page.locator('html[data-tail]').waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.tail), 'inline');
  await page.getByRole('button', { name: 'Stop answer' }).click();
  await tab.atRest();
  await tab.close();
});

test('a stored choice is ignored by a bridge without models and agents', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.addInitScript(() => localStorage.setItem('openagents.mode', 'gptoss_20b'));
  await page.routeWebSocket(/\/acp$/, (client) => {
    const upstream = client.connectToServer();
    client.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (!/^_openagents\/(models|agents)\//.test(method)) return upstream.send(message);
      client.send(
        JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: `Method not found: ${method}` } }),
      );
    });
  });
  await page.goto(stage.server.address);
  await tab.live();
  await page.getByLabel('Goals').waitFor();
  assert.equal(await page.getByText('Agent', { exact: true }).count(), 0);
  await page.keyboard.press('Control+,');
  await page.getByText('Update OpenAgents to use local models').waitFor();
  await page.getByRole('button', { name: 'Agents', exact: true }).click();
  await page.getByText('Update OpenAgents to use agents').waitFor();
  await tab.shoot('models-absent');
  await page.keyboard.press('Escape');
  await tab.explore();
  assert.equal(await local(page).count(), 0);
  await tab.close();
});
