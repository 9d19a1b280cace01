// Managing and using agents: the real server and a real ACP agent.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AgentsStage } from './agents-stage.mjs';
import { launch, Tab } from './browser.mjs';
import { OFFER, Played } from './played.mjs';

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([AgentsStage.set(), launch()]);
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

test('an agent is added, checked, used and removed; its problem is shown', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.settings(tab);
  await page.getByText('None yet. Add any program', { exact: false }).waitFor();
  await page.getByRole('article', { name: 'Codex' }).getByText('Not found').waitFor();
  await tab.shootAll('agents-none');

  await stage.add(tab, 'Broken', '/no/such/program');
  await page.getByRole('article', { name: 'Broken' }).getByText('Not found').waitFor();
  await tab.shoot('agents-broken');

  await stage.add(tab, 'Fake');
  const card = page.getByRole('article', { name: 'Fake' });
  await card.getByText('Ready').waitFor();
  await page.getByRole('button', { name: 'Check again' }).click();
  await card.getByText('Fake Agent 1.0.0', { exact: false }).waitFor();
  // What a screen reader hears has no clock in it, or it would speak every minute.
  const checks = page.getByRole('region', { name: 'Agents on this computer' });
  await checks.getByText('Checked just now').waitFor();
  await checks
    .getByRole('status')
    .filter({ hasText: /^Checked$/ })
    .waitFor();
  await tab.shootAll('agents-added');

  await page.keyboard.press('Escape');
  // The folder was trusted before this agent was there.
  await stage.trust();
  await stage.ask(tab, 'Say hello');
  await page.getByText('You said: Say hello', { exact: false }).waitFor();
  await tab.atRest();
  await tab.shoot('agents-asked');

  await stage.settings(tab);
  await card.getByRole('button', { name: 'Remove' }).click();
  await card.getByText('Remove Fake?', { exact: false }).waitFor();
  await card.getByRole('button', { name: 'Cancel' }).click();
  await card.getByRole('button', { name: 'Remove' }).click();
  await card.getByRole('button', { name: 'Remove', exact: true }).click();
  await card.waitFor({ state: 'detached' });
  await tab.close();
});

test('an agent that is not installed is offered with the reason, and OpenAgents chooses another', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await page.getByRole('button', { name: /^Agent: / }).click();
  const codex = page.locator('[data-choice=codex]');
  await codex.getByText('Set up').waitFor();
  await codex.click();
  await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor();
  await page.keyboard.press('Escape');

  // It was available when it was chosen, and no longer is.
  await page.evaluate(() => localStorage.setItem('openagents.mode', 'codex'));
  await page.reload();
  await page.locator('[data-mode=codex]', { hasText: 'not installed' }).waitFor();
  assert.ok(await page.getByRole('button', { name: 'Start' }).isDisabled());
  await tab.shootAll('start-agent-unavailable');
  await tab.pick('default_mode');
  await page.getByLabel('Goals').fill('What can you do?');
  await tab.shootAll('start-agents');
  await page.getByRole('button', { name: 'Ask instead' }).click();
  await page.locator('[data-routed=inline]').waitFor();
  await tab.atRest();
  await tab.close();
});

test("an agent's activity is shown: thoughts, a command and its output, a crash with its message", async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.addFake(tab);
  await stage.ask(tab, '[[think About the harbour]] [[say Hello there.]] [[call Look around]]');
  await page.getByRole('button', { name: /^Thought/ }).waitFor();
  await page.locator('.message', { hasText: 'Hello there.' }).waitFor();
  await page.getByRole('button', { name: 'Look around' }).waitFor();
  await tab.atRest();

  await stage.prompt(tab, '[[run ls]]');
  const asks = page.locator('[data-approval-state=pending]');
  await asks.getByText('Runs exactly this command', { exact: false }).waitFor();
  await tab.shootAll('agents-command');
  await asks
    .getByRole('button')
    .filter({ hasText: /allow|yes|run/i })
    .first()
    .click();
  await page.locator('[data-terminal]').getByText('exit code 0').waitFor();
  assert.match(await page.locator('[data-terminal] pre').innerText(), /README\.md/);
  await tab.atRest();

  await stage.prompt(tab, '[[crash]]');
  await page.getByText('the script says crash', { exact: false }).first().waitFor();
  await tab.atRest();
  await tab.shootAll('agents-crashed');
  await stage.prompt(tab, 'Are you there?');
  await page.getByText('You said: Are you there?', { exact: false }).waitFor();
  await tab.close();
});

test('messages after a cancel are marked late and not mixed into the next answer', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  if ((await page.locator('[data-mode="custom:fake"]').count()) === 0) await tab.pick('custom:fake');
  await stage.ask(tab, '[[late]]');
  await page.getByText('in time').waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await tab.atRest();
  await stage.prompt(tab, '[[words 60]]');
  await page.getByText('w59', { exact: false }).waitFor();
  await tab.atRest();
  await page.getByText('late', { exact: true }).first().waitFor();
  const answer = page.locator('.message', { hasText: 'w59' });
  assert.match(await answer.innerText(), /w0 w1 w2/);
  assert.doesNotMatch(await answer.innerText(), /late/);
  await tab.shootAll('agents-late');
  await tab.close();
});

test('routed prompts show the agent and the reason', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await tab.explore();
  await tab.atRest();
  await stage.prompt(tab, 'What can you do?');
  const chip = page.locator('[data-routed]');
  await chip.first().waitFor();
  await tab.atRest();
  await chip.locator('[role=note]').first().focus();
  await tab.shootAll('routed');
  await page.keyboard.press('Control+Alt+KeyD');
  await page.getByRole('button', { name: 'Routing' }).click();
  await page.locator('[data-decision]', { hasText: 'What can you do?' }).first().waitFor();
  await tab.close();
});

test('work is not sent to an agent before one is chosen', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.addFake(tab);
  await tab.pick('default_mode');
  await page.getByLabel('Goals').fill('Write a parser for the log format');
  await page.getByRole('button', { name: 'Ask instead' }).click();
  const card = page.locator('[data-approval-state=pending]');
  await card.getByText('This is work for an agent').waitFor();
  const brief = card.getByLabel('Prompt for the agent');
  assert.match(await brief.innerText(), /^Write a parser for the log format/);
  await tab.shootAll('work-card');
  await card.getByRole('button', { name: 'Not now' }).click();
  await page.getByText('Not sent to an agent.').waitFor();
  await tab.atRest();

  await stage.prompt(tab, 'Refactor the log module');
  await card.getByText('This is work for an agent').waitFor();
  await card.getByLabel('Always in this folder').check();
  await card.getByRole('button', { name: 'Fake' }).click();
  await page.getByText('You said: Refactor the log module', { exact: false }).waitFor();
  await tab.atRest();
  await tab.shootAll('work-card-chosen');
  await stage.prompt(tab, 'Rename the log module');
  await page.getByText('You said: Rename the log module', { exact: false }).waitFor();

  await stage.settings(tab);
  const folders = page.getByRole('region', { name: 'Folder agents' });
  await folders.getByText('Fake').waitFor();
  await tab.shoot('work-card-always');
  await folders.getByRole('button', { name: 'Remove' }).click();
  await folders.waitFor({ state: 'detached' });
  await tab.close();
});

test('the settings name a login shell that does not answer and what to do', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  const played = await Played.on(page);
  const list = played.answers['_openagents/agents/list'];
  const shell = {
    problem: 'The login shell /bin/zsh did not answer within 5 s.',
    remedy: 'Run `zsh -i -c true` to see why.',
  };
  played.answers['_openagents/agents/list'] = () => ({ ...list(), shell });
  await page.goto(stage.server.address);
  await tab.live();
  await stage.settings(tab);
  const agents = page.getByRole('region', { name: 'Agents on this computer' });
  await agents.getByText('The login shell /bin/zsh did not answer within 5 s.', { exact: false }).waitFor();
  await agents.locator('code', { hasText: 'zsh -i -c true' }).waitFor();
  await tab.shootAll('agents-shell');
  await tab.close();
});

test('an agent is installed after the user has seen what it is, updated and removed', async () => {
  const tab = await Played.explored(browser, stage.server);
  const { page, played } = tab;
  const sent = () => played.sent.filter(({ method }) => /agents\/(install|stop|roll|uninstall|check_for)/.test(method));
  const last = () => {
    const { method, params } = sent().at(-1) ?? {};
    return [method?.split('/').at(-1), params];
  };
  for (const action of ['install', 'stop_install', 'roll_back', 'uninstall', 'check_for_updates'])
    played.answers[`_openagents/agents/${action}`] = () => played.answers['_openagents/agents/list']();
  await stage.settings(tab);
  const card = page.getByRole('article', { name: 'Claude Code' });
  await card.getByRole('button', { name: 'Install…' }).click();
  for (const shown of [OFFER.package, OFFER.publisher, OFFER.license, 'about 421.0 MB', "isn't sandboxed"])
    await card.getByText(shown, { exact: false }).waitFor();
  assert.deepEqual(sent(), [], 'nothing is installed before the user agrees');
  await tab.shootAll('agents-install');
  await card.getByRole('button', { name: 'Install', exact: true }).click();
  played.package({ progress: { step: 'Downloading', bytes: 105_000_000, totalBytes: 421_000_000 } });
  await card.getByText('105.0 MB of about 421.0 MB').waitFor();
  assert.deepEqual(last(), ['install', { id: 'claude-code', package: OFFER.package }]);
  assert.equal(await card.getByRole('progressbar').getAttribute('aria-valuenow'), '24');
  await tab.shoot('agents-installing');
  await card.getByRole('button', { name: 'Stop' }).click();
  played.package({ offer: OFFER, problem: 'The disk is full. Free 300 MB, then try again.' });
  await card.getByText('The disk is full.', { exact: false }).waitFor();
  assert.deepEqual(last(), ['stop_install', { id: 'claude-code' }]);

  played.package({ offer: OFFER, installed: '0.100.0', previous: '0.99.0' });
  await tab.shootAll('agents-update');
  await card.getByRole('button', { name: 'Switch to 0.99.0' }).click();
  await card.getByRole('button', { name: 'Update to 0.101.0…' }).click();
  await card.getByRole('button', { name: 'Update', exact: true }).click();
  played.package({ offer: OFFER, installed: '0.101.0' });
  await card.getByRole('button', { name: 'Uninstall…' }).click();
  await card.getByText('Its own settings and sessions stay.', { exact: false }).waitFor();
  await card.getByRole('button', { name: 'Uninstall', exact: true }).click();
  await page.getByRole('button', { name: 'Check for updates' }).click();
  played.agents({ packages: { date: '2026-12-01', fetching: false, problem: null } });
  await page.getByText('Versions on offer: 2026-12-01').waitFor();
  assert.deepEqual(
    sent().map(({ method }) => method.split('/').at(-1)),
    ['install', 'stop_install', 'roll_back', 'install', 'uninstall', 'check_for_updates'],
  );
  await tab.close();
});

test("an agent's login runs in a terminal: its address opens, a code is typed, its end is shown", async () => {
  const tab = await Played.explored(browser, stage.server);
  const { page, played } = tab;
  const address = `https://login.example/authorize?state=${'x'.repeat(150)}`;
  const screen = { cursor: null, ended: null, succeeded: false, links: [] };
  const screens = [
    { ...screen, version: 1, lines: ['Open', address, 'Code > '], cursor: [2, 7], links: [address] },
    { ...screen, version: 2, lines: ['Open', address, 'Code > 1234'], cursor: [2, 11], links: [address] },
    { ...screen, version: 3, lines: ['Welcome'], ended: 'exit code 0', succeeded: true },
  ];
  // Each screen is shown after something was typed.
  const typed = [Promise.resolve()];
  const next = [];
  for (let at = 1; at < screens.length; at += 1) typed.push(new Promise((resolve) => next.push(resolve)));
  const list = () => played.answers['_openagents/agents/list']();
  played.answers['_openagents/agents/log_in'] = list;
  played.answers['_openagents/agents/login_type'] = () => {
    next.shift()();
    return list();
  };
  played.answers['_openagents/agents/login_screen'] = async ({ since }) => {
    await typed[since];
    return screens[since];
  };
  await stage.settings(tab);
  await page
    .getByRole('article', { name: 'Claude Code' })
    .getByRole('button', { name: /^Log in/ })
    .click();
  const sheet = page.getByRole('dialog');
  const link = sheet.getByRole('link', { name: address });
  await link.waitFor();
  assert.equal(await link.getAttribute('href'), address);
  await tab.shootAll('agents-login');
  await sheet.getByRole('log', { name: 'Terminal' }).press('1');
  await sheet.getByText('Code > 1234').waitFor();
  // The check that follows a login changes the list; the program is not started again.
  played.agents({ checking: true });
  await sheet.getByLabel('Answer').fill('a b');
  await sheet.getByRole('button', { name: 'Send' }).click();
  await sheet.getByText('starts again with your login', { exact: false }).waitFor();
  assert.deepEqual(
    played.sent.filter(({ method }) => method === '_openagents/agents/login_type').map(({ params }) => params),
    [
      { id: 'claude-code', text: '1' },
      { id: 'claude-code', text: 'a b\r' },
    ],
  );
  played.agents({ checking: false });
  await sheet.getByRole('button', { name: 'Close' }).click();
  await sheet.waitFor({ state: 'detached' });
  assert.equal(played.sent.filter(({ method }) => method === '_openagents/agents/log_in').length, 1);
  assert.ok(!played.sent.some(({ method }) => method === '_openagents/agents/stop_login'));
  await tab.close();
});

test('agents get the tools of OpenAgents by a switch, and other servers by a form', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  if (!stage.trusts) await stage.trust();
  await stage.settings(tab);
  const tools = page.getByRole('region', { name: 'Tools for agents' });
  const own = tools.getByRole('checkbox', { name: 'OpenAgents' });
  await own.check();
  await tools.getByRole('button', { name: 'Add an MCP server' }).click();
  await tools.getByRole('textbox', { name: /^Name/ }).fill('Shell tools');
  await tools.getByRole('textbox', { name: /^Command or address/ }).fill('sh -c "exit 0"');
  await tools.getByRole('textbox', { name: /^Variables/ }).fill('lower-case');
  await tools.getByRole('button', { name: 'Add', exact: true }).click();
  await tools.getByText('not the name of a variable', { exact: false }).waitFor();
  await tools.getByRole('textbox', { name: /^Variables/ }).fill('HOME');
  await tab.shootAll('agents-tools');
  await tools.getByRole('button', { name: 'Add', exact: true }).click();
  await tools.getByText('shell-tools', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await stage.addFake(tab);
  await stage.ask(tab, '[[servers]]');
  const answer = page.locator('.message', { hasText: '"name":"shell-tools"' });
  await answer.waitFor();
  assert.match(await answer.innerText(), /"name":"openagents"/);
  await tab.atRest();
  // Gone with the next prompt.
  await stage.settings(tab);
  await own.uncheck();
  await tools.getByRole('listitem').filter({ hasText: 'shell-tools' }).getByRole('button', { name: 'Remove' }).click();
  await tools.getByText('shell-tools', { exact: true }).waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await stage.prompt(tab, '[[servers]]');
  await page.locator('.message', { hasText: '[]' }).waitFor();
  await tab.close();
});
