// The timeline before the first update and after the fifty-thousandth.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, server } from './stage.mjs';

/** A proxy between the page and the server that can hold back the server's messages. */
async function between(page) {
  const wire = { sent: [], held: null };
  await page.routeWebSocket(/\/acp$/, (client) => {
    const upstream = client.connectToServer();
    wire.release = () => {
      const held = wire.held;
      wire.held = null;
      held.forEach((message) => client.send(message));
    };
    client.onMessage((message) => {
      wire.sent.push(JSON.parse(message));
      upstream.send(message);
    });
    upstream.onMessage((message) => {
      if (wire.held === null) client.send(message);
      else wire.held.push(message);
    });
  });
  return wire;
}

test('Working is shown until the first update, and can be stopped before there is one', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  const wire = await between(page);
  await page.goto(server.address);
  await tab.live();
  wire.held = [];
  await page.getByRole('button', { name: 'Start' }).click();
  await page.getByText(/^Working \(\d+s\)$/).waitFor();
  await page.locator('[data-plan=idle]').getByText('Plan Idle').waitFor();
  await tab.shoot('working');
  await page.getByRole('button', { name: 'Stop' }).click();
  wire.release();
  await page.locator('[data-plan=complete], [data-plan=cancelled]').waitFor();
  await page.getByText(/^Working/).waitFor({ state: 'detached' });
  await tab.atRest();
  assert.equal(wire.sent.filter((frame) => frame.method === 'session/cancel').length, 1);
  await tab.close();
});

test('fifty thousand rows: few are drawn, all are reachable', async () => {
  const ROWS = 50_000;
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.addInitScript(() => {
    globalThis.WebSocket = class extends WebSocket {
      constructor(...given) {
        super(...given);
        globalThis.wire = this;
      }
    };
  });
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  const before = Number(await timeline.getByRole('listitem').first().getAttribute('aria-setsize'));
  const sessionId = decodeURIComponent(new URL(page.url()).hash.replace('#session=', ''));
  const first = Number(await page.locator('[data-updates]').getAttribute('data-updates')) + 1;
  // Continues the session's log with frames like the server's.
  await page.evaluate(
    ([rows, session, seq]) => {
      for (let n = 0; n < rows; n += 1) {
        const update = {
          sessionUpdate: 'tool_call',
          toolCallId: `extra-${n}`,
          title: 'search.grep',
          kind: 'search',
          status: 'completed',
          rawInput: { pattern: `needle ${n}` },
        };
        const params = {
          sessionId: session,
          update,
          _meta: { openagents: { seq: seq + n, ts: 1_700_000_000_000 + n } },
        };
        globalThis.wire.dispatchEvent(
          new MessageEvent('message', { data: JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params }) }),
        );
      }
    },
    [ROWS, sessionId, first],
  );
  await page.locator(`[data-updates="${first + ROWS - 1}"]`).waitFor({ state: 'attached' });
  const rows = timeline.getByRole('listitem');
  assert.equal(Number(await rows.first().getAttribute('aria-setsize')), before + ROWS);

  await rows.first().locator('[data-open]').focus();
  await page.keyboard.press('End');
  await page
    .getByText(`'needle ${ROWS - 1}'`)
    .first()
    .waitFor();
  assert.ok((await rows.count()) < 150, `${await rows.count()} rows are in the document`);
  await page.keyboard.press('Home');
  await timeline.getByText('session.list').first().waitFor();
  assert.ok((await rows.count()) < 150, `${await rows.count()} rows are in the document`);
  await tab.shoot('fifty-thousand');
  await tab.close();
});

test('a timeline removed just before it scrolls to its end raises no error', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  // The scroll waits for the page to be drawn, after an unknown number of promises.
  for (let promises = 0; promises < 12; promises += 1) {
    // A prompt that got through on a slow machine has an answer, below which the summary is not mounted.
    await page.getByRole('list', { name: 'Timeline' }).getByRole('listitem').first().waitFor();
    await page.evaluate(async (count) => {
      const prompt = document.querySelector('textarea');
      prompt.value = 'Where is the entry point?';
      prompt.dispatchEvent(new Event('input', { bubbles: true }));
      document.querySelector('button[aria-label="Send"]').click();
      for (let i = 0; i < count; i += 1) await null;
      document.querySelector('aside button.new').click();
    }, promises);
    await page.getByRole('button', { name: 'Start' }).waitFor();
    await page.locator('aside button.item').first().click();
  }
  await tab.close();
});
