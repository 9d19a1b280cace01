// Downloads and downloaded files, with failures.

import assert from 'node:assert/strict';
import { open, readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import { launch } from './browser.mjs';
import { ModelsStage } from './models-stage.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser?.close());

async function set(t, held) {
  const stage = await ModelsStage.set({ held });
  t.after(() => stage.strike());
  return [stage, await stage.settings(browser)];
}

const verified = (page) =>
  page.locator('[data-model="gpt-oss-20b"][data-status=not_loaded]', { hasText: 'verified' }).waitFor();

test('a damaged model file is detected and repaired', async (t) => {
  const [stage, tab] = await set(t);
  const { page } = tab;
  const card = await stage.download(page);
  await verified(page);
  const whole = await readFile(stage.file);
  const file = await open(stage.file, 'r+');
  await file.write(Buffer.from([whole[3_000_000] ^ 1]), 0, 1, 3_000_000);
  await file.close();

  await card.getByRole('button', { name: 'Verify' }).click();
  await page.locator('[data-model="gpt-oss-20b"][data-status=error]').waitFor();
  assert.match(await card.innerText(), /Needs attention[\s\S]*damaged/);
  assert.equal(
    await card.getByRole('button', { name: 'Load', exact: true }).count(),
    0,
    'a damaged file is not offered to be loaded',
  );
  await tab.shootAll('models-damaged');
  await card.getByRole('button', { name: 'Repair' }).click();
  await verified(page);
  assert.ok(whole.equals(await readFile(stage.file)), 'it is the file of the server again');
  await tab.close();
});

test('a download continues where it was after its connection breaks', async (t) => {
  const [stage, tab] = await set(t);
  stage.repository.dropOnce();
  await stage.download(tab.page);
  await verified(tab.page);
  const { starts } = stage.repository;
  assert.equal(starts.length, 2, String(starts));
  assert.ok(starts[1] > 1_000_000, `it went on at ${starts[1]}`);
  await tab.close();
});

test('a download survives a server restart: it pauses and continues where it was', async (t) => {
  const [stage, tab] = await set(t, 2_000_000);
  const { page } = tab;
  tab.expected.push(/WebSocket connection to .* failed|ERR_CONNECTION_REFUSED/);
  const card = await stage.download(page);
  await card.getByText(/^2\.0 MB of 4\.0 MB/).waitFor();
  await stage.server.crash();
  await page.locator('[data-model] button:disabled').first().waitFor();
  stage.server = await stage.server.again();
  await page.locator('[data-model="gpt-oss-20b"][data-status=paused]').waitFor();
  await card.getByText(/^Paused at [12]\.\d MB of 4\.0 MB$/).waitFor();
  stage.repository.release();
  await card.getByRole('button', { name: 'Resume' }).click();
  await verified(page);
  const { starts } = stage.repository;
  assert.ok(starts.at(-1) > 1_000_000, String(starts));
  await tab.close();
});

test('a download without its server fails with a message and can be restarted', async (t) => {
  const [stage, tab] = await set(t);
  const { page } = tab;
  stage.repository.missing = true;
  const card = await stage.download(page);
  await page.locator('[data-model="gpt-oss-20b"][data-status=error]').waitFor();
  assert.match(await card.innerText(), /Needs attention/);
  await tab.shootAll('models-error');
  stage.repository.missing = false;
  await card.getByRole('button', { name: 'Try again' }).click();
  await verified(page);
  await tab.close();
});
