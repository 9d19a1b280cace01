// The inspector of a row and the debug panel.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SIZES, Tab } from './browser.mjs';
import { asked, call, Played } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

async function explored(options) {
  const tab = await Tab.open(browser, options);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  return tab;
}

for (const size of Object.keys(SIZES)) {
  test(`${size}: a row's notification can be searched and copied`, async () => {
    const tab = await explored({ size, permissions: ['clipboard-read', 'clipboard-write'] });
    const { page, inspector } = tab;
    await tab.row('session.list').click();
    await inspector.waitFor();
    assert.match(
      await inspector.innerText(),
      /session\.list[\s\S]*seq\s+\d+\s+size\s+[\d.]+ k?B\s+time\s+\d\d:\d\d:\d\d\.\d{3}/,
    );

    const search = inspector.getByLabel('Search in JSON');
    await search.fill('SESSIONUPDATE');
    await inspector.getByText('1 of 1', { exact: true }).waitFor();
    assert.equal(await inspector.locator('mark').innerText(), 'sessionUpdate');
    await search.fill('provider');
    await inspector.getByText(/^1 of [2-9]/).waitFor();
    await search.press('Enter');
    await inspector.getByText(/^2 of [2-9]/).waitFor();
    await search.press('Shift+Enter');
    await inspector.getByText(/^1 of [2-9]/).waitFor();
    await tab.shoot('inspector');
    await search.fill('nothing like this');
    await inspector.getByText('No matches').waitFor();

    await inspector.getByRole('button', { name: 'Copy' }).click();
    await inspector.getByText('Copied').waitFor();
    const copied = JSON.parse(await page.evaluate(() => navigator.clipboard.readText()));
    assert.equal(copied.method, 'session/update');
    assert.equal(copied.params.update.sessionUpdate, 'tool_call_update');
    assert.equal(copied.params.update.status, 'completed');

    await inspector.getByRole('button', { name: 'call', exact: true }).click();
    await search.fill('"pending"');
    await inspector.getByText('1 of 1', { exact: true }).waitFor();
    await page.keyboard.press('Escape');
    await inspector.waitFor({ state: 'detached' });
    await tab.close();
  });

  test(`${size}: the debug panel shows every frame live`, async () => {
    const tab = await explored({ size });
    const { page } = tab;
    if (size === 'phone') await page.getByRole('button', { name: 'Sessions', exact: true }).click();
    await page.getByRole('button', { name: 'Debug', exact: true }).click();
    const debug = page.getByRole('region', { name: 'Debug' });
    const filter = debug.getByLabel('Filter frames');
    await filter.fill('_openagents/explore request');
    const question = debug.locator('[data-frame=request]').last();
    await question.click();
    await debug.getByText('"goals"').waitFor();
    assert.match(await debug.innerText(), new RegExp(fixture.workspace));
    await tab.shoot('debug');
    await debug.getByRole('button', { name: 'Close frame' }).click();

    await filter.fill('session/list');
    const total = async () => Number(await debug.getByRole('listitem').first().getAttribute('aria-setsize'));
    /** The list is virtual: its rows state its length. */
    const more = (than) =>
      page.waitForFunction((n) => Number(document.querySelector('.debug [aria-setsize]')?.ariaSetSize) > n, than);
    const before = await total();
    const other = await Tab.open(browser);
    await other.page.goto(server.address);
    await other.live();
    await more(before);

    await debug.getByRole('button', { name: 'Pause' }).click();
    const shown = await total();
    await other.page.reload();
    await other.live();
    if (size === 'desktop') await debug.getByText(/\d+ waiting/).waitFor();
    assert.equal(await total(), shown);
    await debug.getByRole('button', { name: 'Resume' }).click();
    await more(shown);

    await filter.fill('');
    await debug.getByRole('button', { name: 'Clear' }).click();
    await filter.fill('_openagents/explore request');
    await debug.getByText('No frame').or(debug.getByText('No frames yet')).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('region', { name: 'Plan' }).waitFor();
    await other.close();
    await tab.close();
  });
}

test('an output that was shortened in transit is loaded in full', async () => {
  const tab = await Tab.open(browser);
  const played = await Played.on(tab.page);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  await played.follow(tab.page);
  played.update(asked('List the files'));
  played.update(
    call('list', {
      title: 'ls -R',
      status: 'completed',
      rawOutput: 'the first files…',
      _meta: { openagents: { pruned: true, outputSeq: 7 } },
    }),
  );
  const pages = {
    0: { text: '{"rawOutput":"the first ', nextOffset: 24 },
    24: { text: 'and the last file"}', nextOffset: null },
  };
  played.answers['_openagents/update'] = ({ seq, offset }) => {
    assert.equal(seq, 7);
    return pages[offset];
  };
  const { inspector, page } = tab;
  await tab.row('ls -R').click();
  await inspector.getByText('The output was shortened in transit.').waitFor();
  await inspector.getByText('the first files…').waitFor();
  await tab.shoot('inspector-shortened');
  await inspector.getByRole('button', { name: 'Load all' }).click();
  await inspector.getByText('the first and the last file').waitFor();
  await inspector.getByRole('button', { name: 'Load all' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await tab.close();
});
