// Settings → History: what is indexed and shown of other agents' sessions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { Played } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

const SETTINGS = {
  index: true,
  devices: false,
  excluded: { agents: ['gemini'], workspaces: ['/code/secret'] },
  agents: [
    { provider: 'claude-code', agent: 'Claude Code', sessions: 3204 },
    { provider: 'codex', agent: 'Codex', sessions: 1 },
    { provider: 'gemini', agent: 'Gemini CLI', sessions: 12 },
  ],
  sessions: 3205,
  cut: 2,
  bytes: 48_200_000,
  progress: { done: 1204, total: 5000 },
};

/** The settings with a bridge that the test plays: it takes every change. */
async function open({ access, ...options } = {}) {
  const tab = await Tab.open(browser, options);
  const { page } = tab;
  const played = await Played.on(page);
  played.access = access;
  let now = structuredClone(SETTINGS);
  const changed = (change) => (now = { ...now, ...change });
  const METHOD = '_openagents/history';
  played.answers[`${METHOD}/settings`] = () => now;
  played.answers[`${METHOD}/configure`] = ({ exclude, include, ...switches }) => {
    const { agents, workspaces } = now.excluded;
    const on = (list, name, other) => [...list.filter((item) => item !== other), ...(name === undefined ? [] : [name])];
    return changed({
      ...switches,
      excluded: {
        agents: on(agents, exclude?.agent, include?.agent),
        workspaces: on(workspaces, exclude?.workspace, include?.workspace),
      },
    });
  };
  played.answers[`${METHOD}/clear`] = () => changed({ sessions: 0, cut: 0, bytes: 0, progress: { done: 0, total: 0 } });
  played.answers[`${METHOD}/rebuild`] = () => changed({ progress: { done: 0, total: 5000 } });
  await page.goto(server.address);
  await tab.live();
  await page.keyboard.press('Control+K');
  await page.getByRole('combobox', { name: 'Search sessions', exact: false }).fill('settings history');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'History', exact: true }).waitFor();
  tab.sent = (action) =>
    played.sent.filter(({ method }) => method === `${METHOD}/${action}`).map(({ params }) => params);
  tab.played = played;
  return tab;
}

test('the index shows its progress, is rebuilt, and is cleared after a confirmation', async () => {
  const tab = await open();
  const { page } = tab;
  await page.getByText('Indexing 1,204 of 5,000…').waitFor();
  await page.getByText('48.2 MB').waitFor();
  await tab.shootAll('history-settings');
  tab.played.notify('_openagents/history/settings', { ...SETTINGS, progress: { done: 5000, total: 5000 } });
  await page
    .getByText('Indexing', { exact: false })
    .and(page.locator('[role=status] *'))
    .waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Rebuild' }).click();
  await page.getByText('Indexing 0 of 5,000…').waitFor();
  await page.getByRole('button', { name: 'Clear…' }).click();
  await page.getByRole('button', { name: 'Cancel' }).click();
  assert.deepEqual(tab.sent('clear'), []);
  await page.getByRole('button', { name: 'Clear…' }).click();
  await page.getByRole('button', { name: 'Clear', exact: true }).click();
  await page.getByText('0 B').waitFor();
  assert.equal(tab.sent('clear').length, 1);
  await tab.close();
});

test('switches, agents and workspaces are set', async () => {
  const tab = await open();
  const { page } = tab;
  const devices = page.getByRole('checkbox', { name: /^Show other agents' sessions on paired devices/ });
  assert.equal(await devices.isChecked(), false);
  await devices.check();
  await page.getByRole('checkbox', { name: /^Index other agents' sessions/ }).uncheck();
  await page.locator('[data-history-agent=codex] input').uncheck();
  await page.locator('[data-history-agent=codex]').getByText('Excluded').waitFor();
  await page.locator('[data-history-agent=gemini] input').check();
  const field = page.getByLabel('Exclude a workspace');
  await field.fill(fixture.workspace);
  await field.press('Enter');
  await page.locator(`[data-excluded="${fixture.workspace}"]`).waitFor();
  assert.equal(await field.inputValue(), '');
  await page.locator('[data-excluded="/code/secret"]').getByRole('button', { name: 'Remove' }).click();
  await page.locator('[data-excluded="/code/secret"]').waitFor({ state: 'detached' });
  assert.deepEqual(tab.sent('configure'), [
    { devices: true },
    { index: false },
    { exclude: { agent: 'codex' } },
    { include: { agent: 'gemini' } },
    { exclude: { workspace: fixture.workspace } },
    { include: { workspace: '/code/secret' } },
  ]);
  await tab.close();
});

test('a device without the admin scope sees the settings and changes nothing', async () => {
  const tab = await open({ access: { computer: 'Mac', scope: 'approve', device: { id: 'd', name: 'Phone' } } });
  const { page } = tab;
  await page.getByText('48.2 MB').waitFor();
  assert.equal(await page.locator('section[aria-label=Settings] input:not(:disabled)').count(), 0);
  for (const name of ['Rebuild', 'Clear…', 'Exclude', 'Remove'])
    assert.equal(await page.getByRole('button', { name, exact: true }).isDisabled(), true, name);
  await tab.close();
});

test('a bridge without these settings says so', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.routeWebSocket(/\/acp$/, (client) => {
    const upstream = client.connectToServer();
    client.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (method === '_openagents/history/settings')
        client.send(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }));
      else upstream.send(message);
    });
    upstream.onMessage((message) => client.send(message));
  });
  await page.goto(server.address);
  await tab.live();
  await page.keyboard.press('Control+,');
  await page.getByRole('button', { name: 'History', exact: true }).click();
  await page.getByText('Update OpenAgents to use these settings.').waitFor();
  await tab.close();
});
