// The desktop shell's additions to the page: its menu and the system's dialogs.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, Tab } from './browser.mjs';
import { ModelsStage } from './models-stage.mjs';

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([ModelsStage.set(), launch()]);
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

test('Settings open from the menu, a model file is picked in a dialog, and the file manager shows a workspace', async () => {
  const model = await stage.scripted();
  const tab = await Tab.open(browser);
  const { page } = tab;
  // The shell's side of its commands and events, as Tauri's API calls it.
  await page.addInitScript(
    (answers) => {
      const callbacks = [];
      const listeners = {};
      globalThis.isTauri = true;
      globalThis.__TAURI_INTERNALS__ = {
        transformCallback: (callback) => callbacks.push(callback) - 1,
        invoke: async (command, given) => {
          if (command === 'reveal') globalThis.revealed = given.path;
          if (command === 'plugin:event|listen') listeners[given.event] = callbacks[given.handler];
          return answers[command] ?? null;
        },
      };
      globalThis.choose = (id) => listeners.menu({ event: 'menu', id: 0, payload: id });
    },
    { bridge_address: { port: stage.server.port, token: stage.server.token }, pick_model: model },
  );
  await page.goto(stage.server.origin);
  await tab.live();
  await page.evaluate(() => globalThis.choose('settings'));
  await page.getByRole('heading', { name: 'Models' }).waitFor();
  // A second time, they stay open.
  await page.evaluate(() => globalThis.choose('settings'));
  await page.getByRole('button', { name: 'Choose…' }).click();
  await page.locator('article', { hasText: model }).getByText('In use').waitFor();
  assert.equal(await page.getByLabel('Add a GGUF file').inputValue(), '');
  await tab.shoot('shell-settings');
  await tab.shootNarrow('shell-settings');

  // The file manager shows the workspace of a session of ours.
  await page.getByRole('button', { name: 'Close settings' }).click();
  await page.getByLabel('Workspace', { exact: true }).fill(stage.fixture.workspace);
  await tab.explore();
  await page.locator('main header').getByRole('button', { name: 'More' }).click();
  await tab.shoot('shell-session-menu');
  await page.getByRole('menuitem', { name: 'Show in file manager' }).click();
  assert.equal(await page.evaluate(() => globalThis.revealed), stage.fixture.workspace);
  await tab.close();
});
