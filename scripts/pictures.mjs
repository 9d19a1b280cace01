// Takes the pictures of the README: the page over the sources of real projects, with an empty data folder. Needs the
// programs of a debug build.
//
//   pictures.mjs FOLDER   FOLDER has the sources of reqwest and tokio

import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launch, Tab } from '../tests/page/browser.mjs';
import { Server } from '../tests/page/server.mjs';

const PICTURES = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const [, , projects] = process.argv;
assert(projects !== undefined, 'Usage: pictures.mjs FOLDER');

const base = await mkdtemp(join(tmpdir(), 'openagents-pictures-'));
const browser = await launch();

/** Explores a project, asks a question if there is one, and saves the page. */
async function picture(name, { project, question, size = 'desktop', theme }) {
  const folders = { base, home: join(base, name), codex: join(base, 'codex'), claude: join(base, 'claude') };
  const server = await Server.start({ ...folders, workspace: resolve(projects, project) });
  const tab = await Tab.open(browser, { size, theme });
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  if (question !== undefined) {
    await tab.page.getByPlaceholder('Ask about this workspace').fill(question);
    await tab.page.keyboard.press('Enter');
    await tab.page.getByText(question).last().waitFor();
    await tab.atRest();
  }
  // The composer loses its focus ring.
  await tab.page.evaluate(() => document.activeElement.blur());
  await tab.page.waitForTimeout(500);
  await tab.page.screenshot({ path: `${PICTURES}${name}.png` });
  await tab.close();
  await server.stop();
}

await picture('question-light', { project: 'reqwest', question: 'Which headers are removed on a redirect?', theme: 'light' });
await picture('question-dark', { project: 'tokio', question: 'How do workers steal tasks from each other?', theme: 'dark' });
await picture('question-phone', { project: 'reqwest', question: 'How are cookies stored?', size: 'phone', theme: 'dark' });
await picture('nothing-found', { project: 'reqwest', question: 'Where is the parchment?', theme: 'light' });
await picture('exploration', { project: 'tokio', theme: 'dark' });
await browser.close();
await rm(base, { recursive: true });
