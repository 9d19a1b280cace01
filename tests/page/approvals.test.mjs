// Approvals with the real server and a real ACP agent: asked on every page, answered on one.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AgentsStage } from './agents-stage.mjs';
import { launch, SIZES } from './browser.mjs';
import { paired } from './paired.mjs';

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([AgentsStage.set(), launch()]);
  const tab = await stage.open(browser);
  await stage.addFake(tab);
  await tab.close();
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

const pending = (page) => page.locator('[data-approval-state=pending]');
const written = (name) => readFile(join(stage.fixture.workspace, name), 'utf8').catch(() => null);

const sheet = (page) => page.locator('[data-sheet]');

test('a file is edited after an approval on a phone, and every page shows it', async () => {
  const one = await stage.open(browser);
  const two = await paired(browser, stage.server, one, { name: 'My phone', theme: 'light' });
  await two.page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
  await stage.ask(one, '[[edit notes.md]]');
  await pending(one.page).waitFor();
  await one.page.locator('[data-diff="notes.md"]').getByText('made by fake-agent').waitFor();
  await sheet(two.page).getByText('Fake asks').waitFor();
  await sheet(two.page).locator('[data-diff="notes.md"]').getByText('made by fake-agent').waitFor();
  assert.match(await two.page.title(), /^\(1\) /);
  assert.equal(await written('notes.md'), null);
  for (const size of [{ width: 360, height: 640 }, SIZES.phone.viewport]) {
    await two.page.setViewportSize(size);
    for (const name of ['Yes', 'Yes, always', 'No']) {
      const box = await sheet(two.page).getByRole('button', { name, exact: true }).boundingBox();
      assert.ok(box.height >= 48 && box.y + box.height <= size.height, `${name} is in reach`);
    }
  }
  await two.shootAll('approval-sheet');
  await two.page.setViewportSize({ width: 360, height: 640 });
  await two.shoot('approval-sheet-small');
  await sheet(two.page).getByRole('button', { name: 'Yes', exact: true }).click();
  await sheet(two.page).waitFor({ state: 'hidden' });
  await one.page.getByText('Allowed on My phone').waitFor();
  await one.page.getByText('I wrote notes.md.').waitFor();
  assert.equal(await pending(one.page).count(), 0);
  assert.equal(await written('notes.md'), 'made by fake-agent\n');
  await one.page.locator('[data-diff="notes.md"]').getByText('made by fake-agent').waitFor();
  await one.atRest();
  await one.shootAll('approval-approved');
  assert.doesNotMatch(await two.page.title(), /^\(/);
  await one.close();
  await two.close();
});

test('an answer from another device is shown on the phone for a moment, then the sheet closes', async () => {
  const one = await stage.open(browser);
  const two = await paired(browser, stage.server, one, { name: 'Other phone' });
  await stage.ask(one, '[[ask Paint the harbour]]');
  await sheet(two.page).getByText('Paint the harbour').first().waitFor();
  // Once put off, it is listed in one line and can be reopened from there.
  await two.page.keyboard.press('Escape');
  await sheet(two.page).waitFor({ state: 'hidden' });
  await two.page.locator('[data-elsewhere]').getByText('Fake asks in', { exact: false }).waitFor();
  await two.shootAll('approval-elsewhere');
  await two.page.locator('[data-elsewhere]').getByRole('button', { name: 'Review' }).click();
  await sheet(two.page).getByText('Fake asks').waitFor();
  // The agent's own names, in its own order. An "always" of what it does by itself is kept by the agent.
  const names = await sheet(two.page).getByRole('group', { name: 'Answer' }).getByRole('button').allTextContents();
  assert.deepEqual(names, ['Yes', 'Yes, always', 'No']);
  await sheet(two.page).getByText('Fake remembers “Yes, always”.').waitFor();
  await pending(one.page).getByRole('button', { name: 'Yes', exact: true }).click();
  await sheet(two.page).getByText('Answered on Browser').waitFor();
  await two.shoot('approval-answered');
  await sheet(two.page).waitFor({ state: 'hidden' });
  assert.equal(await two.page.locator('[data-elsewhere]').count(), 0);
  await one.close();
  await two.close();
});

test('the sheet shows the command, and exactly that runs', async () => {
  const one = await stage.open(browser);
  const two = await paired(browser, stage.server, one, { name: 'Third phone' });
  await stage.ask(one, '[[run echo made on a phone]]');
  await sheet(two.page).locator('pre').getByText('echo').waitFor();
  await sheet(two.page).getByText('Runs exactly this command', { exact: false }).waitFor();
  await two.shootAll('approval-command');
  // The next one is queued behind it, in another session, and opens by itself.
  await stage.ask(one, '[[ask Paint the harbour]]');
  await sheet(two.page).getByText('1 more waiting').waitFor();
  await sheet(two.page).getByRole('button', { name: 'Run once', exact: true }).click();
  await sheet(two.page).getByText('Paint the harbour').first().waitFor();
  await sheet(two.page).getByRole('button', { name: 'No', exact: true }).click();
  await one.page.getByText('Denied on Third phone').waitFor();
  await one.page
    .getByRole('navigation', { name: 'Sessions' })
    .getByRole('button', { name: /run echo/ })
    .click();
  await one.page.getByText('Allowed on Third phone').waitFor();
  await one.page.locator('[data-terminal]').getByText('made on a phone').first().waitFor();
  await one.close();
  await two.close();
});

test('a device with the prompt scope sees where to approve, and cannot answer', async () => {
  const one = await stage.open(browser);
  const two = await paired(browser, stage.server, one, { name: 'Small phone', scope: 'Prompt' });
  await stage.ask(one, '[[ask Paint the harbour]]');
  await pending(one.page).waitFor();
  await two.page.goto(`${stage.server.origin}/${new URL(one.page.url()).hash}`);
  await two.page
    .getByText(/^Waiting for approval on .+\.$/)
    .first()
    .waitFor();
  assert.equal(await sheet(two.page).isVisible(), false);
  assert.equal(await two.page.getByRole('button', { name: 'Yes', exact: true }).count(), 0);
  await two.shootAll('approval-limit');
  await one.page.locator('[data-approval-state=pending]').getByRole('button', { name: 'No', exact: true }).click();
  await two.page.getByText('Denied on Browser').waitFor();
  await one.close();
  await two.close();
});

test("an agent's options are shown as named, and the chosen one is returned", async () => {
  const one = await stage.open(browser);
  const two = await paired(browser, stage.server, one, { name: 'Choosing phone', theme: 'light' });
  await stage.ask(
    one,
    '[[options a=allow_once=Option Alpha|b=allow_once=Option Bravo|n=allow_until=Allow until noon|s=allow_always=Allow for this session|r=reject_always=Never]]',
  );
  await sheet(two.page).getByText('Which of these?').first().waitFor();
  const all = ['Option Alpha', 'Option Bravo', 'Allow until noon', 'Allow for this session', 'Never'];
  for (const place of [sheet(two.page), pending(one.page)]) {
    assert.deepEqual(await place.getByRole('group', { name: 'Answer' }).getByRole('button').allTextContents(), all);
    assert.equal(await place.locator('button.main').count(), 0, 'nothing is the answer by itself');
  }
  await one.shootAll('approval-options');
  await two.shootAll('approval-options-sheet');
  await sheet(two.page).getByRole('button', { name: 'Allow until noon', exact: true }).click();
  await one.page.getByText('The answer is n.').waitFor();
  await one.page.getByText('Answered on Choosing phone, “Allow until noon”').waitFor();
  await one.close();
  await two.close();
});

test("an agent's expected options may come after the start screen has closed", async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  const waiting = new Set();
  const held = [];
  await page.routeWebSocket(/\/acp$/, (client) => {
    const upstream = client.connectToServer();
    client.onMessage((message) => {
      const { id, method } = JSON.parse(message);
      if (method === '_openagents/agents/options') waiting.add(id);
      upstream.send(message);
    });
    upstream.onMessage((message) => {
      if (waiting.has(JSON.parse(message).id)) held.push(() => client.send(message));
      else client.send(message);
    });
  });
  await page.reload();
  await tab.live();
  await stage.ask(tab, 'Say hello');
  await page.getByText('You said: Say hello', { exact: false }).waitFor();
  await tab.atRest();
  assert.ok(held.length > 0);
  for (const release of held) release();
  await stage.prompt(tab, 'Go on');
  await page.getByText('You said: Go on', { exact: false }).waitFor();
  await tab.close();
});

for (const word of ['edit', 'edit-or-end']) {
  test(`a denial leaves the file alone, and the session continues: ${word}`, async () => {
    const tab = await stage.open(browser);
    const { page } = tab;
    await stage.ask(tab, `[[${word} README.md]]`);
    await pending(page).getByRole('button', { name: 'No', exact: true }).click();
    await page.getByText('Denied on Browser').waitFor();
    await tab.atRest();
    assert.match(await written('README.md'), /^# Harbour/);
    await stage.prompt(tab, 'Go on');
    await page.getByText('You said: Go on', { exact: false }).waitFor();
    await tab.shoot(`approval-rejected-${word}`);
    await tab.close();
  });
}

test('"always" runs exactly this command without asking, until it is revoked in Settings', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  const runs = '[[run echo standing]]';
  await stage.ask(tab, runs);
  await pending(page).getByRole('button', { name: 'Always run exactly this in this session' }).click();
  await page.locator('[data-terminal]').getByText('standing').first().waitFor();
  await tab.atRest();
  await stage.prompt(tab, runs);
  await page.getByText('Allowed on Browser, “Always run exactly this in this session”').nth(1).waitFor();
  await tab.atRest();
  // Another argument is another command.
  await stage.prompt(tab, '[[run echo other]]');
  await pending(page).getByRole('button', { name: 'Deny', exact: true }).click();
  await tab.atRest();
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Agents', exact: true }).click();
  const rules = page.getByRole('region', { name: 'Standing approvals' });
  await rules.locator('pre').getByText('/echo standing', { exact: false }).waitFor();
  await tab.shootAll('standing-approvals');
  await rules.getByRole('button', { name: 'Revoke all' }).click();
  await rules.waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await stage.prompt(tab, runs);
  await pending(page).getByRole('button', { name: 'Run once' }).waitFor();
  await pending(page).getByRole('button', { name: 'Deny', exact: true }).click();
  await tab.atRest();
  await tab.close();
});

test('a cancel ends the turn and its question', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  await stage.ask(tab, '[[edit README.md]]');
  await pending(page).waitFor();
  await page.getByRole('button', { name: 'Stop', exact: true }).click();
  await tab.atRest();
  await page.getByText('Not answered before the turn ended.').waitFor();
  assert.equal(await pending(page).count(), 0);
  assert.match(await written('README.md'), /^# Harbour/);
  await tab.shoot('approval-expired');
  await tab.close();
});

test('the first of two simultaneous answers counts, and the other device shows it', async () => {
  const one = await stage.open(browser);
  await stage.ask(one, '[[ask Paint the harbour]]');
  const two = await stage.follow(browser, one);
  const buttons = [
    pending(one.page).getByRole('button', { name: 'Yes', exact: true }),
    pending(two.page).getByRole('button', { name: 'No', exact: true }),
  ];
  await Promise.all(buttons.map((button) => button.click({ trial: true })));
  // The second answer is sent before the first one is known.
  await Promise.all(buttons.map((button) => button.evaluate((element) => element.click())));
  for (const { page } of [one, two]) await page.locator('[data-approval-state=answered]').waitFor();
  const outcomes = await Promise.all(
    [one, two].map(({ page }) => page.locator('[data-approval-state=answered] .outcome').innerText()),
  );
  const [first] = outcomes.map((words) => /(Allowed|Denied) on Browser/.exec(words)?.[1]);
  for (const words of outcomes) assert.match(words, new RegExp(`${first} on Browser`));
  await one.close();
  await two.close();
});

test('after a server crash the question says that the agent exited, and the agent can be resumed', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  // A crash also breaks a pending request.
  tab.expected.push(/WebSocket connection|ERR_CONNECTION_RE(FUSED|SET)/);
  await stage.ask(tab, '[[edit later.md]]');
  await pending(page).waitFor();
  await stage.server.crash();
  stage.server = await stage.server.again();
  await tab.live();
  const gone = page.locator('[data-approval-state=withdrawn]');
  await gone.getByText('Fake exited before you answered.').waitFor();
  await tab.atRest();
  await tab.shoot('approval-after-crash');
  assert.equal(await written('later.md'), null);
  await gone.getByRole('button', { name: 'Resume' }).click();
  await page.getByText('You said:', { exact: false }).waitFor();
  await tab.atRest();
  await tab.shoot('approval-resumed');
  await tab.close();
});

test('after a server crash an answer is still accepted, and the agent continues with it', async () => {
  const tab = await stage.open(browser);
  const { page } = tab;
  // A crash also breaks a pending request.
  tab.expected.push(/WebSocket connection|ERR_CONNECTION_RE(FUSED|SET)/);
  await stage.ask(tab, '[[edit answered.md]]');
  await pending(page).waitFor();
  await stage.server.crash();
  stage.server = await stage.server.again();
  await tab.live();
  const gone = page.locator('[data-approval-state=withdrawn]');
  await gone.getByRole('button', { name: 'Yes', exact: true }).click();
  const answered = page.locator('[data-approval-state=answered]');
  await answered.getByText('Allowed on Browser').waitFor();
  await page.getByText('You said:', { exact: false }).waitFor();
  await tab.atRest();
  assert.equal(await answered.getByRole('button', { name: 'Resume' }).count(), 0);
  await tab.shoot('approval-answered-after-crash');
  await tab.close();
});
