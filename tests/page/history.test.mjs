// The sessions of other agents: listed with ours, opened as a timeline, read upwards, followed, linked to.

import assert from 'node:assert/strict';
import { appendFile, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, fixture, server } from './stage.mjs';

const PARENT = '6f1b1f2e-2222-4000-8000-0000000000cc';
const LONG = '6f1b1f2e-2222-4000-8000-0000000000aa';

async function open(fragment = '', options) {
  const tab = await Tab.open(browser, options);
  await tab.page.goto(server.address);
  await tab.live();
  if (fragment !== '') await tab.page.goto(`${server.origin}/${fragment}`);
  return tab;
}

const list = ({ page }) => page.getByRole('navigation', { name: 'Sessions' });

test('sessions of other agents are listed, opened as a timeline, and cannot be changed', async () => {
  const tab = await open();
  const { page } = tab;
  await list(tab).locator('[data-provider=codex]').first().waitFor();
  await list(tab).getByText('Write the first draft of QR pairing').click();
  await page.locator('header [title]').getByText('Claude Code', { exact: false }).waitFor();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('Write the first draft of QR pairing').waitFor();
  await timeline.getByText('The draft is there.').waitFor();
  await timeline.locator('[data-tool=Edit]').getByText('Edit', { exact: false }).first().waitFor();
  await page.getByText('Claude Code wrote this session.', { exact: false }).waitFor();
  assert.equal(await page.getByRole('textbox').count(), 0, 'nothing can be written');
  await tab.shootAll('transcript');

  // The row opens in the inspector with the line that it is drawn from.
  await timeline.locator('[data-tool=Edit]').click();
  await tab.inspector.getByText('old_string', { exact: false }).first().waitFor();
  await page.keyboard.press('Escape');
  await tab.close();
});

test('undone turns are folded, and a branch links to its original', async () => {
  const [id, branch] = ['6f1b1f2e-3333-4000-8000-0000000000aa', '6f1b1f2e-3333-4000-8000-0000000000bb'];
  await fixture.rewound(id, branch);
  const tab = await open(`#transcript=claude-code:${branch}`);
  const { page } = tab;
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('Try a header instead').waitFor();
  await page.getByRole('button', { name: 'Original' }).click();
  await timeline.getByText('Leave it, and only shorten its life').waitFor();
  assert.equal(await timeline.getByText('Move it to local storage').count(), 0, 'folded');
  await tab.shootAll('undone');
  await timeline.getByRole('button', { name: 'Undone: 2 entries' }).click();
  await timeline.getByText('Moved to local storage.').waitFor();
  await tab.shoot('undone-open');
  await timeline.getByRole('button', { name: 'Undone: 2 entries' }).click();
  await timeline.getByText('Moved to local storage.').waitFor({ state: 'detached' });
  await tab.close();
});

test('a session with unknown records is marked as incomplete', async () => {
  const id = '6f1b1f2e-4444-4000-8000-0000000000cc';
  await fixture.unheardOf(id);
  const tab = await open(`#transcript=claude-code:${id}`);
  const { page } = tab;
  await page
    .getByText('It may be incomplete: Claude Code 9.9.0 wrote records or fields that OpenAgents does not know: recap', {
      exact: false,
    })
    .waitFor();
  await tab.shootAll('incomplete');
  await page
    .getByRole('navigation', { name: 'Sessions' })
    .getByRole('button', { name: '1 session may be incomplete' })
    .click();
  await page
    .locator('[data-history-agent=claude-code]')
    .getByText('1 session may be incomplete: Claude Code 9.9.0', { exact: false })
    .waitFor();
  await tab.shootAll('incomplete-settings');
  await tab.close();
});

test('the list shows the sessions of one agent', async () => {
  const tab = await open();
  const { page } = tab;
  await list(tab).locator('[data-provider=codex]').first().waitFor();
  await page.getByRole('button', { name: 'Filter sessions' }).click();
  await page.getByLabel('Sessions of').selectOption({ label: 'Claude Code' });
  await list(tab).locator('[data-provider=codex]').first().waitFor({ state: 'detached' });
  assert.ok((await list(tab).locator('[data-provider=claude-code]').count()) > 0);
  await tab.shoot('history-filter');
  await page.getByLabel('Sessions of').selectOption({ label: 'OpenAgents' });
  await list(tab).locator('[data-provider]').first().waitFor({ state: 'detached' });
  await tab.close();
});

test('a long session opens at its end, loads upwards and follows appended rows', async () => {
  const path = await fixture.long(LONG, 1500);
  const tab = await open(`#transcript=claude-code:${LONG}`);
  const { page } = tab;
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('Question 1500', { exact: true }).waitFor();
  await appendFile(path, fixture.turn(LONG, 1501));
  await timeline.getByText('Question 1501', { exact: true }).waitFor();

  const before = await readFile(path);
  const first = timeline.getByText('Question 1', { exact: true });
  const scroller = page.locator('.scroll', { has: timeline });
  for (let looks = 0; looks < 400 && !(await first.isVisible()); looks += 1) {
    await scroller.evaluate((element) => (element.scrollTop = Math.max(0, element.scrollTop - 6000)));
    await page.waitForTimeout(25);
  }
  await first.waitFor();
  assert.ok((await timeline.locator('[data-index]').count()) <= 150, 'few rows are mounted');
  assert.deepEqual(await readFile(path), before, 'the log is as it was');
  await tab.close();
});

test("a sub-agent's rows are shown below their call, inspected there and opened as a session", async () => {
  await fixture.subagent(PARENT, 'ab12');
  const tab = await open(`#transcript=claude-code:${PARENT}`);
  const { page } = tab;
  const timeline = page.getByRole('list', { name: 'Timeline' });
  const child = timeline.locator('[data-child="agent-ab12"]');
  await child.getByRole('button', { name: 'Sub-agent' }).click();
  await child.getByText('There are two files.').waitFor();
  await child.locator('[data-tool=Bash]').getByText('ls src').first().waitFor();
  await tab.shootAll('transcript-sub-agent');
  await child.locator('[data-tool=Bash]').click();
  await tab.inspector.getByText('toolu_ls', { exact: false }).first().waitFor();
  await page.keyboard.press('Escape');
  await child.getByRole('button', { name: 'Open' }).click();
  await page.locator('[data-transcript="agent-ab12"]').waitFor();
  await timeline.getByText('There are two files.').waitFor();
  assert.equal(await timeline.getByText('The helper has answered.').count(), 0);
  await page.goBack();
  await timeline.getByText('The helper has answered.').waitFor();
  await tab.close();
});

test('pins and names persist and reach another tab', async () => {
  const [one, two] = [await open(), await open()];
  const row = (tab, title) => list(tab).getByRole('listitem').filter({ hasText: title });
  const choose = async (item) => {
    await row(one, 'Fix the flaky reconnect test').getByRole('button').first().click({ button: 'right' });
    await one.page.getByRole('menuitem', { name: item }).click();
  };
  await choose('Pin');
  await list(one).getByRole('heading', { name: 'Pinned' }).waitFor();
  await choose('Rename…');
  await one.page.getByRole('dialog').getByLabel('Title').fill('The test that fails on Mondays');
  await one.page.keyboard.press('Enter');
  await row(one, 'The test that fails on Mondays').waitFor();
  for (const tab of [one, two]) {
    await tab.page.reload();
    await row(tab, 'The test that fails on Mondays').waitFor();
    await list(tab).getByRole('heading', { name: 'Pinned' }).waitFor();
  }
  await one.close();
  await two.close();
});

test('an excluded agent leaves the list and comes back', async () => {
  const [one, two] = [await open(), await open()];
  const { page } = one;
  await list(two).locator('[data-provider=codex]').first().waitFor();
  await page.keyboard.press('Control+,');
  await page.getByRole('button', { name: 'History', exact: true }).click();
  await page.locator('[data-history-agent=codex] input').uncheck();
  for (const tab of [one, two]) await list(tab).locator('[data-provider=codex]').first().waitFor({ state: 'detached' });
  await page.locator('[data-history-agent=codex] input').check();
  for (const tab of [one, two]) await list(tab).locator('[data-provider=codex]').first().waitFor();
  await one.shoot('history-settings-real');
  await one.close();
  await two.close();
});

test('a link leads to a line of a session', async () => {
  await fixture.long(LONG, 1500);
  const tab = await open(`#transcript=claude-code:${LONG}&line=401`);
  const { page } = tab;
  await page.getByRole('list', { name: 'Timeline' }).getByText('Question 201', { exact: true }).waitFor();
  await tab.close();
});

test('a deleted session says so', async () => {
  const tab = await open('#transcript=codex:0199a2b4-9999-7000-8000-000000000009');
  await tab.page.getByText('Codex has no session 0199a2b4-9999', { exact: false }).waitFor();
  await tab.close();
});

test('session text is found and opened by keyboard alone', async () => {
  await fixture.long(LONG, 1500);
  const tab = await open();
  const { page } = tab;
  await list(tab).locator('[data-provider=codex]').first().waitFor();
  await page.keyboard.press('Control+K');
  const field = page.getByRole('combobox', { name: 'Search sessions', exact: false });
  await field.waitFor();
  await tab.shootAll('palette');
  const option = page.getByRole('option').filter({ hasText: 'goes on' });
  // The index is filled in the background.
  for (let looks = 0; looks < 200 && (await option.count()) === 0; looks += 1) {
    await field.fill('');
    await field.fill('pairing goes');
    await page.waitForTimeout(100);
  }
  await option.first().waitFor();
  assert.deepEqual(new Set(await option.first().locator('mark').allTextContents()), new Set(['pairing', 'goes']));
  await tab.shootAll('palette-found');
  await page.keyboard.press('Enter');
  await page.getByRole('list', { name: 'Timeline' }).getByText('goes on.', { exact: false }).first().waitFor();

  await page.keyboard.press('Control+K');
  await field.fill('settings privacy');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Privacy' }).first().waitFor();
  await page.keyboard.press('Control+K');
  await field.fill('sessions of codex');
  await page.keyboard.press('Enter');
  await page.getByRole('group', { name: 'Filter' }).getByText('Codex').waitFor();
  await list(tab).locator('[data-provider=claude-code]').first().waitFor({ state: 'detached' });
  await page.keyboard.press('Control+K');
  await field.fill('zzzz nothing');
  await page.getByText('Nothing found.').waitFor();

  // Tool output is not in the index, and one key away.
  await fixture.subagent(PARENT, 'ab12');
  await field.fill('listed the folder');
  await page.getByText('Nothing found.').waitFor();
  await page
    .getByRole('option')
    .filter({ hasText: 'Search full logs for listed the folder' })
    .filter({ hasText: 'Tool output' })
    .waitFor();
  await page.keyboard.press('Control+Enter');
  await page.getByRole('option').filter({ hasText: 'It listed the folder.' }).waitFor();
  assert.equal(await page.getByText('Search full logs for', { exact: false }).count(), 0);
  await page.keyboard.press('Escape');
  await field.waitFor({ state: 'detached' });
  await tab.close();
});

test('evidence leads to its line of the session', async () => {
  const tab = await open();
  const { page } = tab;
  await tab.explore();
  const evidence = page
    .locator('[data-summary] button')
    .filter({ hasText: /(?:codex|claude-code) [0-9a-f]{7}:\d+/ })
    .first();
  await evidence.click();
  await tab.inspector.getByRole('button', { name: 'Open session' }).click();
  await page.locator('[data-transcript]').waitFor();
  await page.getByRole('list', { name: 'Timeline' }).locator('[data-index]').first().waitFor();
  assert.match(new URL(page.url()).hash, /^#transcript=(?:codex|claude-code):/);
  await tab.close();
});
