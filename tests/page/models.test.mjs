// Managing and using the local model: the real server, the real engine, a small scripted gpt-oss.

import assert from 'node:assert/strict';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch } from './browser.mjs';
import { ModelsStage, offered } from './models-stage.mjs';

const ANSWER = 'This folder holds a small project.';
const SECRET = /secret plan/i;

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([ModelsStage.set({ held: 2_000_000 }), launch()]);
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

const settings = (options) => stage.settings(browser, options);

/** Waits until a field holds a value. The page's content policy forbids the evaluation that `waitForFunction` needs. */
async function shows(page, label, value) {
  const give = Date.now() + 20_000;
  while ((await page.getByLabel(label).inputValue()) !== value) {
    assert.ok(Date.now() < give, `${label} is not ${value}`);
    await page.waitForTimeout(50);
  }
}

test('a model is downloaded: licence, progress, pause, resume, cancel', async () => {
  const tab = await settings();
  const { page } = tab;
  const card = offered(page);
  await page.locator('[data-status=not_downloaded]').waitFor();
  await tab.shootAll('models-empty');
  await card.getByRole('button', { name: /^Download/ }).click();
  await card.getByRole('link', { name: 'Apache-2.0' }).waitFor();
  const accept = card.getByRole('button', { name: 'Accept and download' });
  assert.ok(await accept.isDisabled());
  await card.getByLabel('I have read the licence and accept it').check();
  await tab.shoot('models-licence');
  await accept.click();
  await card.getByText(/^[1-3]\.\d MB of 4\.0 MB · .*\/s · .* left$/).waitFor();
  assert.ok(Number(await card.getByRole('progressbar').getAttribute('aria-valuenow')) > 0);
  await tab.shootAll('models-downloading');
  await card.getByRole('button', { name: 'Pause' }).click();
  await page.locator('[data-status=paused]').waitFor();
  await card.getByRole('button', { name: 'Cancel' }).click();
  await card.getByText('Cancel the download and delete the partial file', { exact: false }).waitFor();
  await card.getByRole('button', { name: 'Cancel' }).click();
  stage.repository.release();
  await card.getByRole('button', { name: 'Resume' }).click();
  await page.locator('[data-model="gpt-oss-20b"][data-status=not_loaded]').waitFor();
  await card.getByText('verified', { exact: false }).waitFor();
  await card.getByRole('button', { name: 'Remove' }).click();
  await card.getByText(/^Delete 4\.0 MB at .*gpt-oss-20b-MXFP4\.gguf\?$/).waitFor();
  await tab.shoot('models-remove');
  await card.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.locator('[data-status=not_downloaded]').waitFor();
  await tab.close();
});

test('settings are saved while typing, live on every page, and refused with a message', async () => {
  const [one, two] = [await settings(), await settings({ size: 'phone' })];
  const temperature = one.page.getByLabel('Temperature');
  await temperature.fill('0.3');
  await one.page.getByText('Saved', { exact: true }).waitFor();
  await shows(two.page, 'Temperature', '0.3');
  await two.page.getByLabel('Unload when idle').selectOption('60');
  await shows(one.page, 'Unload when idle', '60');
  assert.equal(await temperature.inputValue(), '0.3');
  await temperature.fill('7');
  await one.page.getByText('temperature is 7; it goes from 0 to 2').waitFor();
  assert.equal(await temperature.inputValue(), '7');
  assert.equal(await two.page.getByLabel('Temperature').inputValue(), '0.3');
  await one.shoot('models-refused');
  const configured = [];
  one.page.on('websocket', (socket) => {
    socket.on('framesent', ({ payload }) => {
      const { method, params } = JSON.parse(payload);
      if (method === '_openagents/models/configure') configured.push(params.settings);
    });
  });
  await one.page.reload();
  await one.live();
  await one.page.keyboard.press('Control+,');
  await shows(one.page, 'Temperature', '0.3');
  await one.page.getByLabel('Top-p').fill('0.8');
  await shows(two.page, 'Top-p', '0.8');
  assert.deepEqual(configured, [{ topP: 0.8 }], 'what was not changed here is left to others');
  await one.page.getByRole('button', { name: 'Reset to defaults' }).click();
  await shows(two.page, 'Temperature', '0.7');
  await one.page.keyboard.press('Escape');
  await one.page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
  await one.close();
  await two.close();
});

test('a file that is not a model is refused next to the field', async () => {
  const tab = await settings();
  const { page } = tab;
  await page.getByLabel('Add a GGUF file').fill(join(stage.fixture.workspace, 'README.md'));
  await page.getByRole('button', { name: 'Add', exact: true }).click();
  assert.match(await page.getByRole('alert').innerText(), /README\.md/);
  await page.getByRole('button', { name: 'Dismiss' }).click();
  await page.getByRole('alert').waitFor({ state: 'detached' });
  await tab.close();
});

test('a prompt is answered by the local model: activity, stream, statistics, Stop', async () => {
  const tab = await settings();
  const { page } = tab;
  const gguf = await stage.scripted();
  const other = join(stage.fixture.base, 'other.gguf');
  await copyFile(gguf, other);
  for (const path of [other, gguf]) await stage.add(page, path);
  // The first file is used at once, another one only when chosen.
  await page.locator('article', { hasText: other }).getByText('In use').waitFor();
  const card = page.locator('article', { hasText: gguf });
  const use = card.getByRole('button', { name: 'Use', exact: true });
  await use.click();
  await card.getByText('In use').waitFor();
  await page.keyboard.press('Escape');
  await tab.explore();
  await tab.pick('gptoss_20b');
  await page.locator('[data-mode=gptoss_20b]').waitFor();
  // The activity of so small a model is short: every state is recorded.
  await page.evaluate(() => {
    globalThis.activities = [];
    new MutationObserver(() => {
      const words = document.querySelector('[data-activity]')?.textContent;
      if (words && globalThis.activities.at(-1) !== words) globalThis.activities.push(words);
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  const prompt = page.getByLabel('Prompt', { exact: true });
  await prompt.fill('What is in this folder?');
  await prompt.press('Enter');
  await page.getByText(ANSWER).waitFor();
  await page.locator('[data-usage]').waitFor();
  await tab.atRest();
  assert.match(
    await page.locator('[data-usage]').last().innerText(),
    /^\d+ tokens · [\d.]+ tokens\/s · first token [\d.]+ m?s$/,
  );
  const activities = await page.evaluate(() => globalThis.activities);
  assert.ok(
    activities.some((words) =>
      /^(?:Loading .*… \d+%|Reading prompt… \d+%|\d+ tokens? · [\d.]+ tokens\/s)$/.test(words),
    ),
    activities.join('; '),
  );
  assert.doesNotMatch(await page.locator('body').innerText(), SECRET);
  await tab.shootAll('models-answered');

  await prompt.fill('Tell me, and loop');
  await prompt.press('Enter');
  await page.locator('[data-activity]', { hasText: /tokens\/s/ }).waitFor();
  // The user scrolls while it is written.
  await page.locator('.message', { hasText: 'tick tick' }).waitFor();
  await tab.shootAll('models-generating');
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await tab.atRest();
  await page.locator('[data-activity]').waitFor({ state: 'detached' });
  await page.keyboard.press('Control+,');
  await card.getByText(/in memory/).waitFor();
  await tab.shootAll('models-ready');
  await card.getByRole('button', { name: 'Unload' }).click();
  await card.getByRole('button', { name: 'Load', exact: true }).waitFor();
  await tab.close();
});
