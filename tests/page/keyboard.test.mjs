// Keyboard only.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, server } from './stage.mjs';

/** Presses Tab until the focus is on something with this accessible name. */
async function tabTo(page, name) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press('Tab');
    const focused = await page.evaluate(() => {
      const element = document.activeElement;
      return element?.getAttribute('aria-label') ?? element?.labels?.[0]?.innerText ?? element?.textContent ?? '';
    });
    if (name.test(focused.trim())) return;
  }
  assert.fail(`Tab does not reach ${name}`);
}

const focusedTool = (page) => page.evaluate(() => document.activeElement?.getAttribute('data-tool'));

test('start, walk the timeline, inspect, search, close, write, debug', async () => {
  const tab = await Tab.open(browser);
  const { page, inspector } = tab;
  await page.goto(server.address);
  await tab.live();
  await tabTo(page, /^Goals/);
  await page.keyboard.type('What is left to do?');
  await page.keyboard.press('Control+Enter');
  await page.locator('[data-plan=complete]').waitFor();
  await page.locator('[data-summary]').waitFor();

  await page
    .getByRole('list', { name: 'Timeline' })
    .locator('[data-open][tabindex="0"]')
    .waitFor({ state: 'attached' });
  await tabTo(page, /session\.list|fs\.list_dir|content\.get_span|search\.grep/);
  await page.keyboard.press('Home');
  const first = await focusedTool(page);
  await page.keyboard.press('ArrowDown');
  const second = await focusedTool(page);
  assert.ok(first && second && first !== second, `${first} → ${second}`);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, 'solid', 'the focus can be seen');
  await tab.shoot('keyboard-focus');

  await page.keyboard.press('Enter');
  await inspector.getByRole('heading', { name: second }).waitFor();
  await page.keyboard.press('ArrowUp');
  await inspector.getByRole('heading', { name: first }).waitFor();
  await page.keyboard.press('Enter');
  await page.keyboard.type('toolCallId');
  await inspector.getByText('1 of 1', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await inspector.waitFor({ state: 'detached' });
  assert.equal(await focusedTool(page), first, 'the focus comes back to the row');
  await page.keyboard.press('End');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Show JSON');

  await page.keyboard.press('/');
  await page.keyboard.type('Which file is touched most?');
  await page.keyboard.press('Enter');
  await page.locator('[data-findings]').last().waitFor();

  await page.keyboard.press('Control+Alt+KeyD');
  await page.getByRole('region', { name: 'Debug' }).waitFor();
  await page.keyboard.type('session/prompt');
  await tabTo(page, /session\/prompt/);
  await page.keyboard.press('Enter');
  await page.getByText('"Which file is touched most?"').waitFor();
  await page.keyboard.press('Control+Alt+KeyD');
  await page.getByRole('region', { name: 'Plan' }).waitFor();
  await tab.close();
});

test('the theme follows the system until one is chosen, and the choice stays', async () => {
  const tab = await Tab.open(browser, { theme: 'light' });
  const { page } = tab;
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto(server.address);
  await tab.live();
  const light = await ground();
  await page.emulateMedia({ colorScheme: 'dark' });
  const dark = await ground();
  assert.notEqual(light, dark);
  await page.getByRole('button', { name: 'Theme: system' }).click();
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  assert.equal(await ground(), light);
  await page.reload();
  await page.getByRole('button', { name: 'Theme: light' }).click();
  await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  await page.emulateMedia({ colorScheme: 'light' });
  assert.equal(await ground(), dark);
  await tab.close();
});

test('all shortcuts are listed, by key, from the palette, and run what they say', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  await page.getByLabel('Prompt', { exact: true }).focus();
  await page.keyboard.press('Control+/');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.getByText('Find in session').waitFor();
  for (const part of ['General', 'Session', 'Settings', 'Timeline', 'Prompt', 'Search field'])
    await dialog.getByRole('heading', { name: part, exact: true }).waitFor();
  await tab.shootAll('shortcuts');
  // The page behind the dialog takes no commands.
  await page.keyboard.press('Control+F');
  assert.equal(await page.locator('[data-find]').count(), 0);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA', 'the focus is where it was');

  await page.keyboard.press('Control+K');
  const field = page.getByRole('combobox', { name: 'Search sessions', exact: false });
  await field.fill('keyboard shortcuts');
  await page.getByRole('option', { name: 'Keyboard shortcuts' }).getByText('Ctrl+/').waitFor();
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+K');
  await field.fill('theme light');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Theme: light' }).waitFor();
  await page.keyboard.press('Control+,');
  await page.getByRole('region', { name: 'Settings', exact: true }).waitFor();
  await page.keyboard.press('Control+,');
  await page.getByRole('region', { name: 'Settings', exact: true }).waitFor({ state: 'detached' });
  await tab.close();
});
