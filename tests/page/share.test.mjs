// A session of another agent is exported to a file, and continued by another agent with a brief.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { AgentsStage } from './agents-stage.mjs';
import { launch } from './browser.mjs';

const TOKEN = 'ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf';
const ID = '0199a2b4-1111-7000-8000-000000000041';

/** A session of Codex with a secret, a constraint and a failed command. */
async function writeSession(fixture) {
  const file = await fixture.codexSession(
    ID,
    41,
    'Make the pairing code longer. Never touch the protocol.',
    'src/pair.rs',
  );
  const line = (type, payload) => `${JSON.stringify({ timestamp: '2026-11-24T14:02:00Z', type, payload })}\n`;
  const entry = (payload) => line('response_item', payload);
  const log = await readFile(file, 'utf8');
  const call = { type: 'function_call', name: 'exec_command', call_id: 'c1', arguments: '{"cmd":"cargo test"}' };
  const output = 'Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\ntest pair ... FAILED';
  await writeFile(
    file,
    log +
      entry(call) +
      entry({ type: 'function_call_output', call_id: 'c1', output }) +
      line('event_msg', { type: 'user_message', message: `Use the token ${TOKEN} for the registry`, kind: 'plain' }) +
      line('event_msg', {
        type: 'agent_message',
        message: 'The test fails because the code is cut.\n\n```rust\nlet code = 1;\n```',
      }),
  );
}

let stage, browser;
before(async () => {
  [stage, browser] = await Promise.all([AgentsStage.set(), launch()]);
  await writeSession(stage.fixture);
  const tab = await stage.open(browser);
  await stage.addFake(tab);
  await tab.close();
});
after(async () => {
  await browser?.close();
  await stage?.strike();
});

async function open() {
  const tab = await stage.open(browser);
  const list = tab.page.getByRole('navigation', { name: 'Sessions' });
  await list.getByRole('button', { name: /Make the pairing code longer/ }).click();
  await tab.page.getByText('The test fails because').waitFor();
  return tab;
}

test('a session is saved without its secrets, as Markdown and as a page that loads nothing', async () => {
  const tab = await open();
  const { page } = tab;
  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Export…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Export session' });
  const preview = dialog.getByLabel('Preview');
  await preview.getByText('[hidden: github-pat]').waitFor();
  await dialog.getByText('1 secret is hidden').click();
  await dialog.getByText('ghp…').waitFor();
  await tab.shootAll('export');

  const saved = async () => {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      dialog.getByRole('button', { name: 'Save' }).click(),
    ]);
    return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
  };
  const markdown = await saved();
  assert.equal(markdown.name, 'Make the pairing code longer Never touch the protocol.md');
  assert.ok(!markdown.text.includes(TOKEN) && markdown.text.includes('> Use the token [hidden: github-pat]'));
  await dialog.waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'More' }).click();
  await page.getByRole('menuitem', { name: 'Export…' }).click();
  await dialog.getByLabel('Format').selectOption('html');
  await dialog.getByText('1 secret is hidden').click();
  await dialog.getByRole('checkbox', { name: /Not a secret/ }).check();
  await preview.getByText('<!doctype html>').waitFor();
  await dialog.getByText('0 secrets are hidden, 1 shown').waitFor();
  await dialog.locator('[aria-busy="false"]').waitFor();
  const html = await saved();
  assert.ok(html.text.includes(TOKEN) && html.text.includes('1 value shown by choice.'));
  await tab.close();

  const file = join(stage.fixture.base, 'session.html');
  await writeFile(file, html.text);
  const reader = await browser.newPage();
  const requests = [];
  const complaints = [];
  reader.on('request', (request) => requests.push(request.url()));
  reader.on('console', (message) => complaints.push(message.text()));
  await reader.goto(`file://${file}`);
  await reader.getByText('The test fails because').waitFor();
  await reader.getByText('cargo test').click();
  await reader.getByText('test pair ... FAILED').waitFor();
  assert.deepEqual([requests, complaints], [[`file://${file}`], []]);
  if (process.env.PICTURES !== 'none')
    await reader.screenshot({ path: join(import.meta.dirname, 'shots/exported-page.png'), fullPage: true });
  await reader.close();
});

test('another agent continues a session with a brief that the user has read', async () => {
  const tab = await open();
  const { page } = tab;
  await page.getByRole('button', { name: 'Continue in…' }).click();
  await page.getByRole('menuitem', { name: 'Fake' }).click();
  const dialog = page.getByRole('dialog', { name: 'Continue in another agent' });
  const brief = dialog.getByLabel('Brief');
  await brief.getByText('Never touch the protocol.').first().waitFor();
  await brief.getByText('exit code 101').waitFor();
  assert.ok(!(await brief.innerText()).includes(TOKEN));
  await tab.shootAll('hand-over');

  await dialog.getByRole('button', { name: 'Edit' }).click();
  await brief.fill('Continue with the pairing code.');
  await dialog.getByRole('button', { name: /Send to Fake/ }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText('Continue with the pairing code.').first().waitFor();
  await tab.close();
});

test('a line of the brief shows where it is from', async () => {
  const tab = await open();
  const { page } = tab;
  await page.getByRole('button', { name: 'Continue in…' }).click();
  await page.getByRole('menuitem', { name: 'Fake' }).click();
  const dialog = page.getByRole('dialog', { name: 'Continue in another agent' });
  await dialog
    .getByRole('button', { name: /^\[\d+\]$/ })
    .first()
    .click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('list', { name: 'Timeline' }).getByText('Make the pairing code longer').first().waitFor();
  await tab.close();
});
