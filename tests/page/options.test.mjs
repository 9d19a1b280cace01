// The pickers of an agent's options: model, effort, mode and the rest. Played: other tests have real agents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Played } from './played.mjs';
import { browser, server } from './stage.mjs';

const value = (id, name, description, asks) => ({
  value: id,
  name,
  ...(description ? { description } : {}),
  ...(asks ? { _meta: { openagents: { asks } } } : {}),
});
const option = (id, name, category, currentValue, options) => ({
  type: 'select',
  id: `claude-code/${id}`,
  name,
  category,
  currentValue,
  options,
});

const MODELS = [
  {
    group: '0',
    name: 'Recommended',
    options: [
      value('opus', 'Opus 5', 'For the hardest work'),
      value('sonnet', 'Sonnet 5', 'For daily work'),
      value('haiku', 'Haiku 5', 'The fastest'),
    ],
  },
  { group: '1', name: 'Earlier', options: ['4.5', '4', '3.7'].map((it) => value(`sonnet-${it}`, `Sonnet ${it}`)) },
];
const MODES = [
  value('default', 'Manual', 'Asks before edits and commands', 'ask'),
  value('plan', 'Plan', 'Reads and plans, changes nothing', 'plan'),
  value('acceptEdits', 'Accept edits', 'Asks before commands only', 'edits'),
  value('bypassPermissions', 'Bypass permissions', 'Skips every approval', 'bypass'),
];

const offered = ({ model = 'opus', effort = 'high', mode = 'default', fast = 'off' } = {}) => [
  option('mode', 'Mode', 'mode', mode, MODES),
  option('model', 'Model', 'model', model, MODELS),
  option('effort', 'Effort', 'thought_level', effort, [value('low', 'Low'), value('high', 'High')]),
  option('fast', 'Fast mode', 'model_config', fast, [value('on', 'On'), value('off', 'Off')]),
];

const report = (played, configOptions) =>
  played.update({
    sessionUpdate: 'config_option_update',
    configOptions,
    _meta: { openagents: { agent: 'claude-code' } },
  });

async function open(options) {
  const tab = await Played.explored(browser, server, options);
  tab.played.answers['_openagents/agents/options'] = () => ({ configOptions: [] });
  tab.played.update({ sessionUpdate: 'current_mode_update', currentModeId: 'claude-code' });
  return tab;
}

const picker = (tab, name) => tab.page.getByRole('button', { name: new RegExp(`^${name}:`) });
const row = (tab, name) => tab.page.getByRole('option', { name });
const set = (tab) => tab.played.sent.filter(({ method }) => method === 'session/set_config_option');

test('model, effort and mode are picked by mouse and by key, and the answer replaces them all', async () => {
  const tab = await open();
  const { page, played } = tab;
  report(played, offered());
  await picker(tab, 'Model').waitFor();
  const labels = await page.locator('form.composer [data-option]').allTextContents();
  assert.deepEqual(
    labels.map((text) => text.trim()),
    ['Opus 5', 'High', 'Manual', ''],
  );
  // Another model has no effort.
  played.answers['session/set_config_option'] = () => ({
    configOptions: offered({ model: 'haiku' }).filter(({ id }) => !id.endsWith('effort')),
  });
  await picker(tab, 'Model').click();
  await page.getByPlaceholder('Search 6 values').waitFor();
  await tab.shootAll('options-model');
  await page.getByPlaceholder('Search 6 values').fill('fastest');
  assert.equal(await page.getByRole('option').count(), 1);
  await page.keyboard.press('Enter');
  await picker(tab, 'Model').getByText('Haiku 5').waitFor();
  assert.equal(await picker(tab, 'Effort').count(), 0);
  assert.deepEqual(set(tab)[0].params.configId, 'claude-code/model');
  assert.deepEqual(set(tab)[0].params.value, 'haiku');
  // The same value again changes nothing.
  await picker(tab, 'Model').click();
  await row(tab, 'Haiku 5').click();
  assert.equal(set(tab).length, 1);
  assert.ok(await picker(tab, 'Model').evaluate((button) => button === document.activeElement));
  await tab.close();
});

test('a mode in which the agent asks nothing is confirmed first, and stays visible', async () => {
  const tab = await open();
  const { page, played } = tab;
  report(played, offered());
  played.answers['session/set_config_option'] = ({ value: mode }) => ({ configOptions: offered({ mode }) });
  await picker(tab, 'Mode').click();
  await row(tab, 'Bypass permissions').click();
  await page.getByText('runs commands without asking you').waitFor();
  await tab.shootAll('options-bypass');
  assert.equal(set(tab).length, 0);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await row(tab, 'Accept edits').waitFor();
  await row(tab, 'Bypass permissions').click();
  await page.getByRole('button', { name: 'Allow everything' }).click();
  await page.getByRole('button', { name: 'Mode: Bypass permissions (Asks nothing)' }).waitFor();
  await tab.close();
});

test('a refused change says why and keeps the value', async () => {
  const tab = await open();
  const { page, played } = tab;
  report(played, offered());
  played.answers['session/set_config_option'] = () => {
    throw new Error('Claude Code may ask less often after this.');
  };
  await picker(tab, 'Mode').click();
  await row(tab, 'Accept edits').click();
  await page.getByText('Claude Code may ask less often after this.').waitFor();
  await picker(tab, 'Mode').getByText('Manual').waitFor();
  await tab.close();
});

test('the rest is behind one button, and another agent has other options', async () => {
  const tab = await open();
  const { page, played } = tab;
  report(played, offered());
  played.answers['session/set_config_option'] = ({ value: fast }) => ({ configOptions: offered({ fast }) });
  await page.getByRole('button', { name: 'More options' }).click();
  await page.getByLabel('Fast mode').selectOption('on');
  await tab.shootAll('options-more');
  assert.equal(set(tab)[0].params.configId, 'claude-code/fast');
  await page.keyboard.press('Escape');
  played.update({ sessionUpdate: 'current_mode_update', currentModeId: 'codex' });
  await picker(tab, 'Model').waitFor({ state: 'detached' });
  await tab.close();
});

test('500 models are searched, and strange names are shown as they are', async () => {
  const tab = await open();
  const { page, played } = tab;
  const models = Array.from({ length: 500 }, (_, at) => value(`m${at}`, `Model ${at}`));
  models[7] = value('odd', '\u202Eevil <b>\u200B名前', 'ünï');
  report(played, [option('model', 'Model', 'model', 'gone', models)]);
  await picker(tab, 'Model').getByText('gone').waitFor();
  await picker(tab, 'Model').click();
  await page.keyboard.type('model 499');
  await row(tab, 'Model 499').waitFor();
  await page.getByPlaceholder('Search 500 values').fill('名前');
  await page.getByRole('option').getByText('evil <b>').waitFor();
  assert.equal(await page.getByRole('option').count(), 1);
  await page.getByPlaceholder('Search 500 values').fill('no such model');
  await page.getByText('Nothing found.').waitFor();
  await tab.close();
});

test('the list of values fits on a phone', async () => {
  const tab = await open({ size: 'phone', theme: 'light' });
  const { page, played } = tab;
  report(played, offered());
  for (const name of ['Model', 'Mode']) {
    await picker(tab, name).click();
    const values = page.getByRole('listbox', { name });
    await values.waitFor();
    await tab.shoot(`options-${name.toLowerCase()}-list`);
    const { x, y, width, height } = await values.boundingBox();
    assert.ok(x >= 0 && y >= 0 && x + width <= 390 && y + height <= 844, `${name}: ${x} ${y} ${width} ${height}`);
    await page.keyboard.press('Escape');
    await values.waitFor({ state: 'detached' });
  }
  await tab.close();
});
