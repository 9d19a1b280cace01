// Kept copies of other agents' sessions: the question, the settings, and a session whose log was deleted.

import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
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
