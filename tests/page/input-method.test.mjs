// Keys that an input method uses to compose a word: nothing on the page acts on them.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { Played } from './played.mjs';
import { browser, server } from './stage.mjs';

const DEVICES = {
  devices: [{ id: 'd1', name: 'Phone', scope: 'view', createdAt: 0, lastSeen: 0, address: null, connections: 0 }],
  requests: [],
  pairing: null,
  apps: [],
  network: {
    lan: false,
    ios: 'off',
    computer: 'harbour',
    listeners: [],
    fingerprint: null,
    certificateUntil: null,
    problem: null,
    fixed: false,
  },
};

/**
 * Ends a composition with a key, in the order of an engine: Blink reports the key as part of the composition, WebKit
 * afterwards, with the code of an input method alone. Returns whether the browser would close a dialog upon it.
 */
const composed = (page, engine, key, more = {}) =>
  page.evaluate(
    ([engine, key, more]) => {
      const field = document.activeElement;
      const composition = (type, data) => field.dispatchEvent(new CompositionEvent(type, { bubbles: true, data }));
      const press = (isComposing) =>
        field.dispatchEvent(
          new KeyboardEvent('keydown', {
            key,
            code: key,
            keyCode: 229,
            isComposing,
            bubbles: true,
            cancelable: true,
            ...more,
          }),
        );
      composition('compositionstart', '');
      composition('compositionupdate', 'かな');
      const closes = (acts) => acts && key === 'Escape' && field.closest('dialog') !== null;
      if (engine === 'Blink') {
        const acts = press(true);
        composition('compositionend', '仮名');
        return closes(acts);
      }
      composition('compositionend', '仮名');
      return closes(press(false));
    },
    [engine, key, more],
  );

/** Composes with keys and checks that `shown` stays on the page. */
async function stays(page, engine, keys, shown) {
  await shown.waitFor();
  for (const key of keys) {
    assert.equal(await composed(page, engine, key), false, `${key} closes ${shown}`);
    // Long enough for a close that waits for the next frame.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done))));
    assert.equal(await shown.isVisible(), true, `${key} keeps ${shown}`);
  }
}

const active = (page) =>
  page.evaluate(
    () =>
      document.activeElement.id ||
      document.activeElement.getAttribute('aria-label') ||
      document.activeElement.textContent,
  );

for (const engine of ['Blink', 'WebKit']) {
  test(`composition keys trigger nothing in ${engine}`, async () => {
    const tab = await Tab.open(browser);
    const { page, inspector } = tab;
    const played = await Played.on(page);
    played.answers['_openagents/devices/list'] = () => DEVICES;
    await page.goto(server.address);
    await tab.live();

    const goals = page.getByLabel('Goals');
    await goals.focus();
    await composed(page, engine, 'Enter', { ctrlKey: true });
    await page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
    await tab.explore();

    const prompt = page.getByLabel('Prompt', { exact: true });
    await prompt.fill('日本語');
    await stays(page, engine, ['Enter', 'Escape', 'Tab'], prompt);
    assert.equal(await prompt.inputValue(), '日本語');
    assert.deepEqual(
      played.sent.filter(({ method }) => method === 'session/prompt'),
      [],
    );

    await page.keyboard.press('Control+F');
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Find in session');
    await page.keyboard.type('e');
    const counted = page.locator('[data-find] [role=status]');
    await page.waitForFunction(() => /^\d+ of/.test(document.querySelector('[data-find] [role=status]').textContent));
    const count = await counted.textContent();
    await stays(page, engine, ['Enter', 'Escape'], page.locator('[data-find]'));
    assert.equal(await counted.textContent(), count);
    await page.keyboard.press('Escape');
    await page.locator('[data-find]').waitFor({ state: 'detached' });

    await tab.row('session.list').click();
    await inspector.getByLabel('Search in JSON').fill('provider');
    const first = inspector.getByText(/^1 of [2-9]/);
    await stays(page, engine, ['Enter', 'Escape'], first);
    await page.keyboard.press('Escape');
    await inspector.waitFor({ state: 'detached' });

    await page.keyboard.press('Control+K');
    const palette = page.getByRole('combobox', { name: 'Search sessions', exact: false });
    await palette.fill('theme');
    const chosen = await palette.getAttribute('aria-activedescendant');
    await stays(page, engine, ['ArrowDown', 'ArrowUp', 'Enter', 'Escape'], palette);
    assert.equal(await palette.getAttribute('aria-activedescendant'), chosen);
    await page.keyboard.press('Escape');
    await palette.waitFor({ state: 'detached' });

    const nav = page.getByRole('navigation', { name: 'Sessions' });
    await nav.getByRole('listitem').first().getByRole('button').first().click({ button: 'right' });
    const menu = page.getByRole('menu', { name: 'Session' });
    await menu.waitFor();
    const item = await active(page);
    await stays(page, engine, ['ArrowDown', 'Enter', 'Escape'], menu);
    assert.equal(await active(page), item);
    await menu.getByRole('menuitem', { name: 'Rename…' }).click();
    const rename = page.getByRole('dialog', { name: 'Rename session' });
    await rename.getByLabel('Title').focus();
    await stays(page, engine, ['Enter', 'Escape'], rename);
    await page.keyboard.press('Escape');
    await rename.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'Filter sessions' }).click();
    const filter = page.getByRole('dialog', { name: 'Filter sessions' });
    await stays(page, engine, ['Escape'], filter);
    await page.keyboard.press('Escape');
    await filter.waitFor({ state: 'detached' });

    await page.getByRole('button', { name: 'New exploration' }).click();
    await page.getByRole('button', { name: /^Agent: / }).click();
    const choice = page.locator('[data-choice]').first();
    await stays(page, engine, ['ArrowDown', 'Enter', 'Escape'], choice);
    await page.keyboard.press('Escape');
    await choice.waitFor({ state: 'detached' });

    await page.keyboard.press('Control+Alt+KeyD');
    const frames = page.getByLabel('Filter frames');
    await frames.fill('session/list');
    await stays(page, engine, ['Enter', 'Escape'], frames);
    await page.keyboard.press('Escape');
    await frames.waitFor({ state: 'detached' });

    await page.keyboard.press('Control+,');
    await page.getByRole('button', { name: 'Devices', exact: true }).click();
    await page.getByRole('button', { name: 'Rename Phone' }).click();
    const name = page.locator('[data-device=d1]').getByRole('textbox', { name: 'Name' });
    await stays(page, engine, ['Enter', 'Escape'], name);
    await page.keyboard.press('Escape');
    await name.waitFor({ state: 'detached' });
    await tab.close();
  });
}
