// Kept copies of other agents' sessions: the question, the settings, and a session whose log was deleted.

import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, fixture, server } from './stage.mjs';

const list = ({ page }) => page.getByRole('navigation', { name: 'Sessions' });

async function open() {
  const tab = await Tab.open(browser);
  await tab.page.goto(server.address);
  await tab.live();
  return tab;
}

async function showSettings({ page }) {
  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('navigation', { name: 'Settings pages' }).getByRole('button', { name: 'History' }).click();
  const section = page.getByRole('region', { name: 'Kept copies' });
  await section.waitFor();
  return section;
}

test('the question is asked once, and a deleted session is read from its copy until that is deleted', async () => {
  for (const number of [4, 5]) {
    const id = `0199a2b4-1111-7000-8000-00000000000${number}`;
    await fixture.codexSession(id, number, `Question ${number}`, 'src/pair.rs');
  }
  const [tab, other] = [await open(), await open()];
  const { page } = tab;
  const card = page.getByRole('region', { name: 'Keep your sessions?' });
  // The thread that counts them waits while the computer is busy.
  await card.getByText(/for the \d+ sessions found/).waitFor({ timeout: 60_000 });
  await tab.shootAll('keep-card');
  await card.getByRole('button', { name: 'Keep copies' }).click();
  await card.waitFor({ state: 'detached' });
  await other.page.getByRole('region', { name: 'Keep your sessions?' }).waitFor({ state: 'detached' });

  const section = await showSettings(tab);
  assert.ok(await section.getByRole('checkbox', { name: /Keep copies/ }).isChecked());
  await section.getByText(/^\d+ sessions · /).waitFor();
  await section.getByText(/left to copy/).waitFor({ state: 'detached' });
  await section.getByRole('button', { name: 'Verify' }).click();
  await section.getByText(/compared: everything is intact/).waitFor();
  await tab.shootAll('keep-settings');
  await page.keyboard.press('Escape');

  // As its agent does after 30 days.
  const folder = fixture.workspace.replaceAll(/[^A-Za-z0-9]/g, '-');
  await rm(join(fixture.claude, 'projects', folder, '6f1b1f2e-2222-4000-8000-000000000003.jsonl'));
  const row = list(tab).getByRole('button', { name: 'Write the first draft of QR pairing' });
  await row.getByText('kept copy').waitFor({ state: 'attached', timeout: 40_000 });
  await row.click();
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('The draft is there.').waitFor();
  await page.getByText(/Kept copy · deleted (by|in) Claude Code on/).waitFor();
  await tab.shootAll('kept-transcript');

  const again = await showSettings(tab);
  await again.getByText(/1 of them gone/).waitFor();
  await again.getByRole('button', { name: 'Delete kept copies…' }).click();
  await again.getByRole('button', { name: 'Delete', exact: true }).click();
  await list(tab).getByText('Write the first draft of QR pairing').waitFor({ state: 'detached', timeout: 40_000 });
  await other.close();
  await tab.close();
});

test('an older version of a log that its agent rewrote is saved', async () => {
  const log = await fixture.codexSession('0199a2b4-1111-7000-8000-000000000006', 6, 'Question 6', 'src/pair.rs');
  const before = await readFile(log, 'utf8');
  const tab = await open();
  const { page } = tab;
  const section = await showSettings(tab);
  const on = section.getByRole('checkbox', { name: /Keep copies/ });
  if (!(await on.isChecked())) await on.check();
  await section.getByText(/^5 sessions · /).waitFor({ timeout: 60_000 });
  await section.getByRole('combobox', { name: 'When you delete a session in its agent' }).selectOption('keep');
  await tab.shootAll('keep-choices');
  await page.keyboard.press('Escape');
  // As Codex does when it compacts.
  await writeFile(log, before.split('\n').slice(0, 3).join('\n') + '\n');
  const other = list(tab).getByRole('button', { name: 'Fix the flaky reconnect test' });
  const row = list(tab).getByRole('button', { name: 'Question 6' });
  const button = page.getByRole('button', { name: 'Older versions…' });
  for (const until = Date.now() + 60_000; (await button.count()) === 0 && Date.now() < until;) {
    await other.click();
    await row.click();
    await button.waitFor({ timeout: 2_000 }).catch(() => undefined);
  }
  await page.getByText(/Codex rewrote this log on/).waitFor();
  await button.click();
  const dialog = page.getByRole('dialog', { name: 'Older versions' });
  await dialog.getByRole('radio').first().check();
  const folder = await mkdtemp(join(tmpdir(), 'openagents-version-'));
  await dialog.getByRole('textbox', { name: 'New or empty folder' }).fill(folder);
  await tab.shootAll('keep-versions');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await dialog.waitFor({ state: 'detached' });
  const saved = (await readdir(folder, { recursive: true })).find((name) => name.endsWith('000006.jsonl'));
  assert.equal(await readFile(join(folder, saved), 'utf8'), before);
  await rm(folder, { recursive: true });
  await tab.close();
});

test('what was typed in a deleted session is found by the filter and read', async () => {
  const typed = { display: 'Paint the shed green', pastedContents: {}, timestamp: Date.now() - 3_600_000 };
  const session = { ...typed, project: fixture.workspace, sessionId: '6f1b1f2e-2222-4000-8000-0000000000ff' };
  await writeFile(join(fixture.claude, 'history.jsonl'), `${JSON.stringify(session)}\n`);
  const tab = await open();
  const { page } = tab;
  const row = list(tab).getByRole('button', { name: 'Paint the shed green' });
  await list(tab).getByRole('button', { name: 'Question 6' }).waitFor();
  assert.equal(await row.count(), 0);
  await page.getByRole('button', { name: 'Filter sessions' }).click();
  await page.getByRole('checkbox', { name: 'Only sessions that are gone' }).check();
  await page.keyboard.press('Escape');
  await row.getByText('prompts only').waitFor();
  assert.equal(await list(tab).getByRole('button', { name: 'Question 6' }).count(), 0);
  await row.click();
  await page.getByRole('list', { name: 'Timeline' }).getByText('Paint the shed green').waitFor();
  await page.getByText('Prompts only · Claude Code no longer has the session.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Continue in Claude Code' }).count(), 0);
  await tab.shootAll('prompts-only');
  await tab.close();
});
