// Pairs a phone through the pages.

import assert from 'node:assert/strict';
import { Tab } from './browser.mjs';

/** Console errors of a page without a valid token. */
export const REFUSED = /WebSocket connection|ERR_|401|403|429|Failed to load resource/;

/** Shows a code on the desktop, with Settings → Devices open, and returns it. */
export async function code({ page }) {
  const shown = page.locator('[data-pairing] .code');
  const before = (await shown.count()) > 0 ? await shown.innerText() : null;
  await page.getByRole('button', { name: before === null ? 'Pair a device' : 'Get a new code', exact: true }).click();
  await page.locator('[data-pairing] .code', before === null ? {} : { hasNotText: before }).waitFor();
  const text = await shown.innerText();
  assert.match(text, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  return text;
}

/** Opens Settings → Devices. */
export async function devices({ page }) {
  await page.keyboard.press('Control+,');
  await page.getByRole('button', { name: 'Devices', exact: true }).click();
  await page.getByRole('heading', { name: 'Paired devices' }).waitFor();
}

/** Pairs a phone with the desktop and closes the settings there. */
export async function paired(browser, server, desktop, { name, scope = 'Approve', ...options }) {
  await devices(desktop);
  const phone = await Tab.open(browser, { size: 'phone', ...options });
  phone.expected.push(REFUSED);
  await phone.page.goto(`${server.origin}/#pair=${await code(desktop)}`);
  await phone.page.getByLabel('Device name').fill(name);
  await phone.page.getByRole('button', { name: 'Pair this device' }).click();
  const dialog = desktop.page.getByRole('dialog');
  await dialog.getByText(await phone.page.locator('[data-compare]').innerText(), { exact: true }).waitFor();
  await dialog.getByRole('radio', { name: scope }).check();
  await dialog.getByRole('button', { name: 'Allow' }).click();
  await phone.live();
  await desktop.page.keyboard.press('Escape');
  return phone;
}
