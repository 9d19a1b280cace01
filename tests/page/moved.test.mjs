// A session whose folder was moved: the folder is located, and the session belongs to the new one.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, fixture, server } from './stage.mjs';

const TITLE = 'Shorten the pairing code';

function git(...given) {
  const names = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  return execFileSync('git', [...names, ...given], { cwd: fixture.workspace, encoding: 'utf8' }).trim();
}

test('a moved folder is suggested with its evidence, and forgotten in the settings', async () => {
  git('init', '-q');
  git('add', '.');
  git('commit', '-q', '-m', 'First');
  const commit = git('rev-parse', 'HEAD');
  const log = await fixture.codexSession('0199a2b4-1111-7000-8000-00000000000a', 1, TITLE, 'src/pair.rs');
  const old = join(fixture.base, 'harbor');
  const [first, ...rest] = (await readFile(log, 'utf8')).replaceAll(fixture.workspace, old).split('\n');
  const meta = JSON.parse(first);
  meta.payload.git = { commit_hash: commit };
  await writeFile(log, [JSON.stringify(meta), ...rest].join('\n'));

  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  const sessions = page.getByRole('navigation', { name: 'Sessions' });
  await sessions.getByRole('button', { name: TITLE }).click();
  await page.getByText(/harbor, no longer exists\./).waitFor();
  assert.equal(await page.getByRole('button', { name: 'Continue in Codex' }).count(), 0);
  await tab.shootAll('folder-lost');

  await page.getByRole('button', { name: 'Locate folder…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Locate the folder' });
  await dialog.getByText(`Has the commit ${commit.slice(0, 10)}`).waitFor();
  await tab.shootAll('folder-locate');
  await dialog.getByRole('textbox', { name: 'Folder' }).fill(join(fixture.base, 'nowhere'));
  await dialog.getByRole('button', { name: 'Use this folder' }).click();
  await dialog.getByText(/nowhere is not a folder\./).waitFor();
  await dialog.getByRole('radio').check();
  await dialog.getByRole('button', { name: 'Use this folder' }).click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByText(/no longer exists\./).waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Settings' }).click();
  await page.getByRole('navigation', { name: 'Settings pages' }).getByRole('button', { name: 'History' }).click();
  const moved = page.getByRole('region', { name: 'Moved folders' });
  await moved.getByText(/was .*harbor$/).waitFor();
  await tab.shoot('moved-settings');
  await moved.getByRole('button', { name: 'Forget' }).click();
  await moved.waitFor({ state: 'detached' });
  await page.keyboard.press('Escape');
  await page.getByText(/harbor, no longer exists\./).waitFor();
  await tab.close();
  await rm(log);
});
