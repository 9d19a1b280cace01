// Settings → Privacy: what models and agents may read, on the real server.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AgentsStage } from './agents-stage.mjs';
import { launch } from './browser.mjs';

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([AgentsStage.set(), launch()]);
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

async function privacy(options) {
  const tab = await stage.open(browser, options);
  await tab.page.keyboard.press('Control+,');
  await tab.page.getByRole('button', { name: 'Privacy', exact: true }).click();
  await tab.page.getByRole('heading', { name: 'Privacy', exact: true }).waitFor();
  await tab.page.locator('[data-row=files]').waitFor();
  return tab;
}

const SWITCHES = [
  'Model elsewhere: past sessions of the folder',
  'Hosted agent: past sessions of the folder',
  'Model on this computer: past sessions of other folders',
];

test('the table shows fixed access as text and the rest as switches, initially off', async () => {
  const tab = await privacy();
  const { page } = tab;
  const cells = await page
    .locator('[data-cell]')
    .evaluateAll((all) =>
      all.map((cell) => cell.querySelector('input')?.checked ?? cell.querySelector('.fixed').textContent),
    );
  assert.deepEqual(cells, ['Always', 'Always', 'Always', 'Always', false, false, false, 'Never', 'Never']);
  for (const name of SWITCHES) assert.equal(await page.getByRole('checkbox', { name }).isEnabled(), true, name);
  await tab.shootAll('privacy');
  await tab.close();
});

test('a switch set in one tab updates another, also by keyboard', async () => {
  const [tab, other] = [await privacy(), await privacy()];
  const [here, there] = [tab, other].map(({ page }) => page.getByRole('checkbox', { name: SWITCHES[1] }));
  await here.focus();
  await tab.page.keyboard.press('Space');
  await other.page.locator('[data-row=history] [data-cell=hosted] input:checked').waitFor();
  await there.uncheck();
  await tab.page.locator('[data-row=history] [data-cell=hosted] input:not(:checked)').waitFor();
  await tab.close();
  await other.close();
});

test('on a phone the table is a list with a name at every cell', async () => {
  const tab = await privacy({ size: 'phone', theme: 'light' });
  const { page } = tab;
  const names = await page.locator('[data-row=other_history] .reader').allInnerTexts();
  assert.deepEqual(names, ['Model on this computer', 'Model elsewhere', 'Hosted agent']);
  const box = await page.getByRole('checkbox', { name: SWITCHES[2] }).locator('xpath=..').boundingBox();
  assert.ok(box.height >= 30, `${box.height} px`);
  await tab.shoot('privacy-phone');
  await tab.close();
});
