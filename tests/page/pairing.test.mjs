// Pairing a device by the URL of the QR code and by a typed code, with the real server.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { code, devices, REFUSED } from './paired.mjs';
import { browser, server } from './stage.mjs';

/** The desktop, with Settings → Devices open. */
async function desktop(options) {
  const tab = await Tab.open(browser, options);
  await tab.page.goto(server.address);
  await tab.live();
  await devices(tab);
  return tab;
}

async function phone(hash = '', options = {}) {
  const tab = await Tab.open(browser, { size: 'phone', ...options });
  tab.expected.push(REFUSED);
  await tab.page.goto(`${server.origin}/${hash}`);
  return tab;
}

const pairs = ({ page }) => page.getByRole('button', { name: 'Pair this device' });
const compare = ({ page }) => page.locator('[data-compare]');

test('a phone is paired by the URL of the QR code: both screens show the same code, and the page continues', async () => {
  const one = await desktop();
  const shown = await code(one);
  await one.page.locator('[data-pairing]').scrollIntoViewIfNeeded();
  await one.shootAll('pairing-code');
  const two = await phone(`#pair=${shown}`);
  assert.equal(new URL(two.page.url()).hash, '', 'the code is not kept in the address');
  await two.page.getByLabel('Device name').fill('Test phone');
  await two.shootAll('pairing-form');
  await two.page.setViewportSize({ width: 360, height: 640 });
  await pairs(two).click();
  await compare(two).waitFor();
  await two.shoot('pairing-compare');
  await two.shootAll('pairing-compare');
  const dialog = one.page.getByRole('dialog');
  await dialog.getByText('A device wants to pair').waitFor();
  const words = await compare(two).innerText();
  assert.match(words, /^\d{3} \d{3}$/);
  await dialog.getByText(words, { exact: true }).waitFor();
  assert.equal(await dialog.getByLabel('Name').inputValue(), 'Test phone');
  await one.shootAll('pairing-access-request');

  // A phone that is reloaded or briefly offline keeps waiting.
  await two.page.reload();
  await compare(two).getByText(words).waitFor();
  await two.context.setOffline(true);
  await two.page.getByText('No connection to', { exact: false }).waitFor();
  await two.shoot('pairing-away');
  await two.context.setOffline(false);
  await two.page.getByText('Waiting for', { exact: false }).waitFor();

  await dialog.getByLabel('Name').fill('My phone');
  await dialog.getByRole('button', { name: 'Allow' }).click();
  await two.live();
  await one.page.locator('[data-pairing]').waitFor({ state: 'detached' });
  const row = one.page.getByRole('article', { name: 'My phone' });
  await row.getByText('Connected').waitFor();
  assert.equal(await row.getByRole('combobox').inputValue(), 'prompt');
  await row.scrollIntoViewIfNeeded();
  await one.shoot('pairing-paired');

  // Its scope is reduced while it is connected, and then removed.
  await row.getByRole('combobox').selectOption('view');
  await two.page.getByText('This device can view. Change its access on', { exact: false }).waitFor();
  await row.getByRole('button', { name: 'Remove' }).click();
  await row.getByRole('button', { name: 'Remove device' }).click();
  await two.page.getByText('This device was removed on', { exact: false }).waitFor();
  await two.shootAll('pairing-removed');
  await two.page.getByRole('button', { name: 'Pair again' }).click();
  await two.page.getByRole('heading', { name: 'Pair this device' }).waitFor();
  await one.close();
  await two.close();
});

test('a code is parsed leniently, and its problem is shown', async () => {
  const one = await desktop();
  const two = await phone('', { theme: 'light' });
  await pairs(two).click();
  const field = two.page.getByLabel('Code', { exact: true });
  await field.pressSequentially('aaaaaaaa');
  assert.equal(await field.inputValue(), 'AAAA-AAAA');
  await pairs(two).click();
  await two.page.getByRole('alert').getByText('This code is wrong.').waitFor();
  await two.shootAll('pairing-wrong');
  const shown = await code(one);
  await field.fill('');
  await field.pressSequentially(shown.toLowerCase().replace('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l'));
  assert.equal(await field.inputValue(), shown);
  await pairs(two).click();
  await compare(two).waitFor();

  // Declined, with a message.
  await one.page.getByRole('dialog').getByRole('button', { name: 'Decline' }).click();
  await two.page.getByRole('alert').getByText('Declined on the computer.', { exact: false }).waitFor();
  await pairs(two).click();
  await compare(two).waitFor();
  await one.page.getByRole('dialog').getByRole('radio', { name: 'View' }).check();
  await one.page.getByRole('dialog').getByRole('button', { name: 'Allow' }).click();
  await two.live();
  await two.page.getByText('This device can view.', { exact: false }).waitFor();
  assert.equal(await two.page.getByLabel('Prompt', { exact: true }).count(), 0);

  // The code was used up.
  const three = await phone(`#pair=${shown}`);
  await pairs(three).click();
  await three.page.getByRole('alert').getByText('This code was already used.', { exact: false }).waitFor();
  await three.close();

  // A device unpairs itself.
  await two.page.getByRole('button', { name: 'Sessions' }).click();
  await two.page.getByRole('button', { name: 'Settings' }).click();
  await two.page.getByRole('button', { name: 'Devices', exact: true }).click();
  await two.page.getByRole('button', { name: 'Unpair this device' }).click();
  await two.page.getByRole('button', { name: 'Unpair', exact: true }).click();
  await two.page.locator('[data-link=refused], [data-link=removed]').first().waitFor();
  await one.page.getByText('Unpaired itself').or(one.page.getByText('None yet.')).first().waitFor();
  await one.page.getByRole('button', { name: 'Refresh' }).click();
  await one.page.getByText('Unpaired itself').waitFor();
  await one.page.getByRole('heading', { name: 'Recent remote actions' }).scrollIntoViewIfNeeded();
  await one.shootAll('pairing-actions');
  await one.close();
  await two.close();
});

test('too many wrong codes disable the button for a while', async () => {
  const two = await phone();
  await two.page.route('**/pair', (route) =>
    route.fulfill({ status: 429, json: { code: 'slow_down', message: 'Too many.', retryAfterMs: 900 } }),
  );
  await pairs(two).click();
  await two.page.getByLabel('Code', { exact: true }).fill('K7QX2M9P');
  await pairs(two).click();
  await two.page.getByRole('alert').getByText('Too many attempts. Wait a second and try again.').waitFor();
  assert.equal(await pairs(two).isDisabled(), true);
  await two.page.getByRole('button', { name: 'Pair this device', disabled: false }).waitFor();
  await two.close();
});

/** Regression: the device's token stayed in the browser, for any program that took the port to read. */
test('a browser paired without TLS stores no token and is paired until reloaded', async () => {
  const one = await desktop();
  const two = await phone(`#pair=${await code(one)}`);
  await two.page.getByText('stays paired until this page is reloaded', { exact: false }).waitFor();
  await two.shoot('pairing-without-tls');
  await pairs(two).click();
  await one.page.getByRole('dialog').getByRole('button', { name: 'Allow' }).click();
  await two.live();
  const kept = await two.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  assert.doesNotMatch(kept, /[\w-]{40,}/, 'no token');
  await two.page.reload();
  await pairs(two).waitFor();
  await one.close();
  await two.close();
});
