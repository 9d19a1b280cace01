// Settings → Devices and access requests: played, to cover every state of the network.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { Played } from './played.mjs';
import { browser, server } from './stage.mjs';

const MINUTE = 60_000;
const PRINT = '5E:0A:91:7C:42:D3:88:1F:6B:E4:20:9D:C7:35:FA:11:5E:0A:91:7C:42:D3:88:1F:6B:E4:20:9D:C7:35:FA:11';
const QR =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 29 29" shape-rendering="crispEdges"><rect width="29" height="29" fill="#fff"/><path d="M4 4h7v7H4zM18 4h7v7h-7zM4 18h7v7H4zM13 5h2v3h-2zM14 13h4v4h-4zM20 20h3v5h-3z"/></svg>';

const network = (more) => ({
  lan: false,
  ios: 'off',
  computer: 'harbour-mac',
  listeners: [{ kind: 'loopback', address: '127.0.0.1:9099' }],
  fingerprint: null,
  certificateUntil: null,
  problem: null,
  fixed: false,
  ...more,
});
const open = network({
  lan: true,
  ios: 'ask',
  listeners: [
    { kind: 'loopback', address: '127.0.0.1:9099' },
    { kind: 'web', address: '192.168.1.5:9443' },
    { kind: 'web', address: 'harbour-mac.local:9443' },
    { kind: 'app', address: '192.168.1.5:9099' },
  ],
  fingerprint: PRINT,
  certificateUntil: Date.parse('2027-12-20'),
});
const pairing = () => ({
  code: 'K7QX-2M9P',
  expiresAt: Date.now() + 4.6 * MINUTE,
  addresses: ['https://192.168.1.5:9443', 'https://harbour-mac.local:9443'],
  fingerprint: PRINT,
  url: 'https://192.168.1.5:9443/#pair=K7QX-2M9P',
  qr: QR,
});
const device = (more) => ({
  id: 'd1',
  name: 'iPhone (Safari)',
  scope: 'approve',
  createdAt: Date.now() - 86_400_000,
  lastSeen: Date.now() - 3 * 3_600_000,
  address: '192.168.1.23',
  connections: 0,
  ...more,
});
const accessRequest = (more) => ({
  id: 'r1',
  kind: 'pair',
  name: 'iPhone (Safari)',
  address: '192.168.1.23',
  compare: '482 913',
  askedAt: Date.now(),
  expiresAt: Date.now() + 5 * MINUTE,
  sessionId: null,
  ...more,
});
const snapshot = (more) => ({ devices: [], requests: [], pairing: null, apps: [], network: network(), ...more });
const entries = (from, count) =>
  Array.from({ length: count }, (_, at) => ({
    id: from - at,
    ts: Date.now() - at * 7 * MINUTE,
    device: 'd1',
    name: 'iPhone (Safari)',
    address: '192.168.1.23',
    action: at % 3 === 0 ? 'Answered an approval' : 'Sent a prompt',
    detail: at % 3 === 0 ? 'Allow: Run cargo test' : null,
  }));

/** A tab whose server has the devices of `first`; actions are recorded in `played.sent` and answered with `next`. */
async function stage(first = snapshot(), { size = 'desktop', audit = () => ({ entries: [] }), access } = {}) {
  const tab = await Tab.open(browser, { size });
  const played = await Played.on(tab.page);
  played.next = first;
  played.access = access;
  for (const action of ['list', 'pair', 'stop_pairing', 'allow', 'decline', 'rename', 'scope', 'revoke', 'network'])
    played.answers[`_openagents/devices/${action}`] = () => played.next;
  played.answers['_openagents/devices/audit'] = audit;
  await tab.page.goto(server.address);
  await tab.live();
  return { tab, page: tab.page, played };
}

async function settings({ tab, page }) {
  await page.keyboard.press('Control+,');
  await page.getByRole('button', { name: 'Devices', exact: true }).click();
  await page.getByRole('heading', { name: 'Devices', exact: true }).waitFor();
  return tab;
}

const asked = (played, action) =>
  played.sent.findLast(({ method }) => method === `_openagents/devices/${action}`)?.params;

/** Waits until the page has sent a request. */
async function asks({ page, played }, action) {
  for (let tries = 0; tries < 400; tries += 1) {
    const params = asked(played, action);
    if (params !== undefined) return params;
    await page.waitForTimeout(25);
  }
  assert.fail(`${action} has not been asked`);
}

test('the network is off until it is turned on, and the unencrypted endpoint needs a confirmed warning', async () => {
  const on = await stage();
  const { tab, page, played } = on;
  await settings(on);
  const lan = page.getByLabel('Serve this page on the local network');
  assert.equal(await lan.isChecked(), false);
  await page.getByText('No actions from other devices yet.').waitFor();
  await tab.shootAll('devices-off');
  played.next = snapshot({ network: { ...open, ios: 'off', listeners: open.listeners.slice(0, 3) } });
  await lan.check();
  assert.deepEqual(await asks(on, 'network'), { lan: true });
  await page.getByText('https://192.168.1.5:9443').first().waitFor();

  const app = page.getByLabel('Allow the OpenAgents iOS app');
  await app.click();
  await page.getByText('This connection is not encrypted.').waitFor();
  assert.equal(await app.isChecked(), false);
  await tab.shootAll('devices-unencrypted');
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.deepEqual(asked(played, 'network'), { lan: true }, 'nothing was asked for');
  await app.click();
  played.next = snapshot({ network: open });
  await page.getByRole('button', { name: 'Allow unencrypted' }).click();
  await page.getByText('ws://192.168.1.5:9099').waitFor();
  assert.deepEqual(asked(played, 'network'), { ios: 'ask' });
  assert.equal(await app.isChecked(), true);
  await tab.close();
});

test('network problems are shown, and settings from the command line cannot be changed', async () => {
  const on = await stage(
    snapshot({
      network: {
        ...open,
        fixed: true,
        problem: 'Port 9443 is taken by another program. Stop it, or start OpenAgents with another --lan-port.',
      },
    }),
  );
  await settings(on);
  await on.page.getByRole('alert').getByText('Port 9443 is taken').waitFor();
  assert.equal(await on.page.getByLabel('Serve this page on the local network').isDisabled(), true);
  await on.page.getByText('set on the command line', { exact: false }).waitFor();
  await on.tab.shootAll('devices-fixed');
  await on.tab.close();
});

test('pairing shows the code, QR code, addresses and the steps to trust the certificate', async () => {
  const on = await stage(snapshot({ network: open }));
  const { tab, page, played } = on;
  await settings(on);
  played.next = snapshot({ network: open, pairing: pairing() });
  await page.getByRole('button', { name: 'Pair a device' }).click();
  await page.getByText('K7QX-2M9P').waitFor();
  await page.getByText('Works once, 5 minutes left.').waitFor();
  // The time that is left changes all the while, and would be read aloud each time.
  assert.equal(await page.locator('[data-pairing] [role=status]').innerText(), 'Works once');
  const picture = page.getByAltText('QR code that opens the pairing page');
  assert.ok((await picture.evaluate((image) => image.naturalWidth)) > 0, 'the picture is drawn');
  await page.locator('[data-pairing]').scrollIntoViewIfNeeded();
  await tab.shootAll('devices-pairing');
  await page.getByText('If the phone warns about the certificate').click();
  assert.equal(
    await page.getByRole('link', { name: 'ca.mobileconfig' }).getAttribute('href'),
    'https://192.168.1.5:9443/ca.mobileconfig',
  );
  await page.getByRole('link', { name: 'ca.pem' }).scrollIntoViewIfNeeded();
  await tab.shootAll('devices-trust');
  played.next = snapshot({ network: open });
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await page.locator('[data-pairing]').waitFor({ state: 'detached' });
  await tab.close();
});

test('devices are renamed, given another scope and removed; their actions are listed', async () => {
  const devices = [
    device({ connections: 1, lastSeen: Date.now() }),
    device({ id: 'd2', name: 'Android phone (Chrome)', scope: 'view' }),
  ];
  const apps = [{ address: '192.168.1.7', allowedAt: Date.now() - 40 * MINUTE, until: Date.now() + 600 * MINUTE }];
  const on = await stage(snapshot({ network: open, devices, apps }), {
    audit: ({ before }) => ({ entries: before === undefined ? entries(90, 30) : entries(before - 1, 4) }),
  });
  const { tab, page, played } = on;
  await settings(on);
  const row = page.locator('[data-device=d1]');
  await row.getByText('Connected · 192.168.1.23').waitFor();
  await page.locator('[data-device=d2]').getByText('Seen 3h ago').waitFor();
  await row.scrollIntoViewIfNeeded();
  await tab.shootAll('devices-list');

  await row.getByRole('button', { name: 'Rename iPhone (Safari)' }).click();
  played.next = snapshot({ network: open, devices: [{ ...devices[0], name: 'My phone' }, devices[1]], apps });
  await row.getByLabel('Name').fill('My phone');
  await row.getByLabel('Name').press('Enter');
  await row.getByRole('heading', { name: 'My phone' }).waitFor();
  assert.deepEqual(asked(played, 'rename'), { id: 'd1', name: 'My phone' });

  await row.getByLabel('Access for My phone').selectOption('view');
  assert.deepEqual(await asks(on, 'scope'), { id: 'd1', scope: 'view' });
  await row.getByRole('button', { name: 'Remove' }).click();
  await row.getByText('Remove My phone?').waitFor();
  await tab.shootAll('devices-remove');
  await row.getByRole('button', { name: 'Cancel' }).click();
  assert.equal(asked(played, 'revoke'), undefined);
  await row.getByRole('button', { name: 'Remove' }).click();
  played.next = snapshot({ network: open, devices: [devices[1]], apps });
  await row.getByRole('button', { name: 'Remove device' }).click();
  await row.waitFor({ state: 'detached' });
  assert.deepEqual(asked(played, 'revoke'), { id: 'd1' });
  await page.getByRole('button', { name: 'Disconnect' }).click();
  for (let tries = 0; asked(played, 'revoke').address === undefined && tries < 100; tries += 1)
    await page.waitForTimeout(20);
  assert.deepEqual(asked(played, 'revoke'), { address: '192.168.1.7' });

  const actions = page.getByRole('region', { name: 'Recent remote actions' }).getByRole('listitem');
  assert.equal(await actions.count(), 30);
  await page.getByRole('button', { name: 'Show older' }).click();
  await actions.nth(33).waitFor();
  await actions.nth(0).scrollIntoViewIfNeeded();
  await tab.shootAll('devices-actions');
  await tab.close();
});

test('access requests are shown at once, over any page, one after the other; nothing is answered by accident', async () => {
  const on = await stage();
  const { tab, page, played } = on;
  await page.locator('#workspace').focus();
  const requests = [
    accessRequest(),
    accessRequest({
      id: 'r2',
      kind: 'ios',
      name: 'OpenAgents iOS',
      address: '192.168.1.7',
      compare: null,
      askedAt: Date.now() + 5,
    }),
  ];
  played.notify('_openagents/devices', snapshot({ network: open, requests }));
  const dialog = page.getByRole('dialog');
  await dialog.getByText('482 913').waitFor();
  await dialog.getByText('1 more waiting').waitFor();
  // The user was typing: the dialog ignores keys that were not meant for it.
  await page.keyboard.press('Enter');
  await page.keyboard.press('Space');
  assert.equal(asked(played, 'allow') ?? asked(played, 'decline'), undefined);
  await tab.shootAll('devices-access-request');
  await dialog.getByLabel('Name').fill('My phone');
  await dialog.getByRole('radio', { name: 'Prompt' }).check();
  played.next = snapshot({ network: open, requests: [requests[1]], devices: [device()] });
  await dialog.getByRole('button', { name: 'Allow' }).click();
  await dialog.getByText('The OpenAgents app at 192.168.1.7 wants to connect.').waitFor();
  assert.deepEqual(asked(played, 'allow'), { requestId: 'r1', name: 'My phone', scope: 'prompt' });
  await tab.shootAll('devices-access-request-ios');
  played.next = snapshot({ network: open });
  await dialog.getByRole('button', { name: 'Decline' }).click();
  await dialog.waitFor({ state: 'detached' });
  assert.deepEqual(asked(played, 'decline'), { requestId: 'r2' });
  assert.equal(
    await page.locator('#workspace').evaluate((field) => field === document.activeElement),
    true,
    'the keyboard is where it was',
  );

  // Once put off, it is listed in the settings; answered on another device, it is gone.
  played.notify('_openagents/devices', snapshot({ network: open, requests: [accessRequest({ id: 'r3' })] }));
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await settings(on);
  // The list is read once per connection only: the last notification counts.
  await page.getByRole('button', { name: 'Review' }).click();
  await dialog.getByText('482 913').waitFor();
  played.notify('_openagents/devices', snapshot({ network: open }));
  await dialog.waitFor({ state: 'detached' });
  await tab.close();
});

test('a phone with the admin scope gets access requests too', async () => {
  const on = await stage(snapshot({ network: open, requests: [accessRequest()] }), { size: 'phone' });
  await on.page.getByRole('dialog').getByText('482 913').waitFor();
  await on.page.setViewportSize({ width: 360, height: 640 });
  await on.tab.shoot('devices-access-request-small');
  const allow = await on.page.getByRole('button', { name: 'Allow' }).boundingBox();
  assert.ok(allow.y + allow.height <= 640, 'both answers are in sight');
  await on.tab.close();
});

test('a view-only device has no composer and read-only settings; its scope can change while connected', async () => {
  const access = { computer: 'harbour-mac', scope: 'view', device: { id: 'd1', name: 'iPhone (Safari)' } };
  const on = await stage(snapshot(), { size: 'phone', access });
  const { tab, page, played } = on;
  const limit = page.getByText('This device can view. Change its access on harbour-mac.');
  await limit.waitFor();
  assert.equal(asked(played, 'list'), undefined, 'it does not ask for what it may not see');
  await tab.shootAll('devices-view');
  await page.keyboard.press('Control+,');
  await limit.first().waitFor();
  await page.getByRole('button', { name: 'Devices', exact: true }).click();
  await page.getByRole('button', { name: 'Unpair this device' }).waitFor();
  await tab.shootAll('devices-own');
  await page.keyboard.press('Escape');
  played.notify('_openagents/access', { scope: 'prompt', device: access.device });
  await page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
  await tab.close();
});
