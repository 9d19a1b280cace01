// The page on a phone, over the network: encrypted, paired, by WebSocket or by events.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { SMALL } from './browser.mjs';
import { RemoteStage } from './remote-stage.mjs';

const BROKEN = /WebSocket connection|ERR_|401|403|404|Failed to load resource/;

let stage;
before(async () => {
  stage = await RemoteStage.set();
});
after(() => stage?.strike());

const link = (tab) => tab.page.locator('[data-transport]').first();

test('a paired phone uses an encrypted WebSocket and stays paired', async () => {
  const tab = await stage.phone();
  assert.equal(new URL(tab.page.url()).protocol, 'https:');
  assert.equal(await link(tab).getAttribute('data-transport'), 'websocket');
  await tab.page.reload();
  await tab.live();
  assert.equal(await tab.page.evaluate(() => sessionStorage.length), 0, 'its token is that of the device');
  await tab.close();
});

test('without WebSockets a whole exploration runs over events', async () => {
  const tab = await stage.phone({ theme: 'light', prepare: (tab) => unopenable(tab) });
  const { page } = tab;
  assert.equal(await link(tab).getAttribute('data-transport'), 'events');
  await page
    .getByRole('textbox', { name: /workspace|folder/i })
    .first()
    .waitFor();
  await tab.explore();
  const rows = page.getByRole('list', { name: 'Timeline' }).getByRole('listitem');
  const count = await rows.count();
  assert.ok(count > 4, `${count} rows`);
  await tab.shoot('over-events');
  // A prompt is sent and answered.
  await page.getByLabel('Prompt', { exact: true }).fill('Where is pair called?');
  await page.getByRole('button', { name: 'Send' }).click();
  await page.locator('[data-findings]').last().waitFor();
  await tab.atRest();
  // The page continues when the server is back.
  tab.expected.push(BROKEN);
  // Only the visible rows are in the document.
  const updates = () => page.locator('[data-updates]').getAttribute('data-updates');
  const after = await updates();
  await stage.server.stop();
  await page.locator('[data-link=offline]').waitFor();
  stage.server = await stage.server.again();
  await tab.live();
  assert.equal(await updates(), after);
  assert.equal(await link(tab).getAttribute('data-transport'), 'events');
  await tab.close();
});

for (const [over, prepare] of [
  ['a WebSocket', undefined],
  ['events', (tab) => unopenable(tab)],
]) {
  test(`a removed phone says so at once, over ${over}`, async () => {
    const tab = await stage.phone({ ...SMALL, prepare });
    tab.expected.push(BROKEN);
    const { page } = tab;
    await tab.explore();
    const { devices, network } = await stage.cli('devices', 'list');
    const [newest] = devices.sort((a, b) => b.createdAt - a.createdAt);
    assert.equal(newest.connections, 1);
    await stage.cli('devices', 'revoke', newest.id, '--yes');
    await page.locator('[data-link=removed]').waitFor();
    await page.getByText(`This device was removed on ${network.computer}.`).waitFor();
    assert.equal(await page.evaluate(() => localStorage.getItem('openagents.device')), null, 'its token is gone');
    await tab.shoot(`removed-${prepare === undefined ? 'socket' : 'events'}`);
    await page.getByRole('button', { name: 'Pair again' }).click();
    await page.getByRole('button', { name: 'Pair this device' }).waitFor();
    await tab.close();
  });
}

test('a phone with an unknown token can be paired again', async () => {
  const tab = await stage.phone();
  tab.expected.push(BROKEN);
  const { page } = tab;
  await page.evaluate(() => localStorage.setItem('openagents.device', 'x'.repeat(43)));
  await page.reload();
  await page.getByText('This device is no longer paired.').waitFor();
  await tab.shoot('unpaired');
  await page.getByRole('button', { name: 'Pair again' }).click();
  await page.getByRole('button', { name: 'Pair this device' }).waitFor();
  await tab.close();
});

/** Like Safari on iOS with an untrusted certificate: the page opens, a WebSocket does not. */
async function unopenable(tab) {
  tab.expected.push(/WebSocket/);
  await tab.page.routeWebSocket(/\/acp$/, (socket) => socket.close({ code: 1006 }));
  await tab.page.addInitScript(() => {
    globalThis.WebSocket = class extends EventTarget {
      static OPEN = 1;
      readyState = 3;
      constructor() {
        super();
        setTimeout(() => this.dispatchEvent(new CloseEvent('close', { code: 1006 })));
      }
      close() {}
    };
  });
}
