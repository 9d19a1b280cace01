// The overview of a real repository: its facts, its map, and the questions that it answers.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, server } from './stage.mjs';

const FILES = {
  'README.md': '# lighthouse\n\nLighthouse tells ships where the coast is.\n\n```sh\nmake test\n```\n',
  Makefile: 'test:\n\tnpm test\n\nbuild:\n\tnpm run build\n',
  'src/main.ts':
    "// The program: lights the lamp.\nimport { light } from './lamp/light';\nimport { turn } from './lens/turn';\nlight(turn());\n",
  'src/lamp/light.ts':
    "// Lights the lamp at dusk.\nimport { dusk } from '../clock/dusk';\nexport const light = (angle: number) => dusk() + angle;\n",
  'src/lamp/oil.ts': '// Counts the oil that is left.\nexport const oil = 12;\n',
  'src/lens/turn.ts':
    "// Turns the lens.\nimport { dusk } from '../clock/dusk';\nexport const turn = () => dusk() * Number(process.env.LENS_SPEED);\n",
  'src/lens/clean.ts': '// Cleans the lens.\nexport const clean = true;\n',
  'src/bell/bell.ts': '// Rings in fog.\nexport const bell = 1;\n',
  'src/bell/rope.ts': '// The rope of the bell.\nexport const rope = 1;\n',
  'src/stairs/up.ts': '// Leads up.\nexport const up = 1;\n',
  'src/stairs/down.ts': '// Leads down.\nexport const down = 1;\n',
  'src/clock/dusk.ts':
    "// Knows when the sun sets.\nimport { noon } from './noon';\nexport const dusk = () => noon + 6;\n",
  'src/clock/noon.ts': '// Knows when the sun is highest.\nexport const noon = 12;\n',
};

async function repository() {
  const root = join(await mkdtemp(join(tmpdir(), 'oa-overview-')), 'lighthouse');
  for (const [path, text] of Object.entries(FILES)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_COMMITTER_DATE: '2026-03-02T10:00:00Z' };
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=Ida Lewis', '-c', 'user.email=ida@example.org', ...args], { cwd: root, env });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-q', '-m', 'Build the tower');
  await writeFile(join(root, 'src/lamp/oil.ts'), '// Counts the oil that is left.\nexport const oil = 13;\n');
  git('commit', '-q', '-a', '-m', 'Fill up the oil');
  await writeFile(join(root, 'src/lens/clean.ts'), '// Cleans the lens.\nexport const clean = false;\n');
  return root;
}

test('a repository is described with its places, and its map unfolds', async () => {
  const root = await repository();
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await page.getByLabel('Workspace', { exact: true }).fill(root);
  await tab.explore();

  const overview = page.locator('[data-overview]');
  const block = (name) => overview.getByRole('region', { name });
  assert.match(await block('What it is').innerText(), /Lighthouse tells ships where the coast is\.\s+README\.md:3/);
  assert.match(await block('What it is').innerText(), /TypeScript \(\d+ lines in 11 files\)/);
  assert.match(await block('Build, run, test').innerText(), /Test:\s+make test/);
  assert.match(await block('Where it starts').innerText(), /LENS_SPEED/);
  const changes = await block('Recent changes').innerText();
  assert.match(changes, /Not committed:\s+src\/lens\/clean\.ts/);
  assert.match(changes, /Fill up the oil \(Ida Lewis, 2026-03-02\)/);

  // Every fact with a place is a button; the inspector or the editor shows its lines.
  const facts = await block('How it is organised').getByRole('listitem').count();
  assert.equal(await block('How it is organised').getByRole('listitem').getByRole('button').count(), facts);

  const map = page.getByRole('figure', { name: 'Map of the code' });
  const clock = map.getByRole('button', { name: /^src\/clock\/, \d+ lines$/ });
  await map.getByRole('button', { name: /^src\/lamp\/, \d+ lines, imports src\/clock\/$/ }).waitFor();
  const [lamp, below] = [map.getByRole('button', { name: /^src\/lamp\// }), clock];
  assert.ok((await lamp.boundingBox()).y < (await below.boundingBox()).y, 'what is imported is lower');
  assert.equal(await map.locator('path.arrow').count(), 4);
  await map.scrollIntoViewIfNeeded();
  await tab.shootAll('overview-map');

  await clock.press('Enter');
  await map.getByRole('button', { name: /^src\/clock\/dusk\.ts, 3 lines, imports src\/clock\/noon\.ts$/ }).waitFor();
  assert.equal(await clock.getAttribute('aria-expanded'), 'true');
  await tab.shootAll('overview-unfolded');
  await clock.press('Enter');
  assert.equal(await map.getByRole('button', { name: /dusk\.ts/ }).count(), 0);

  const questions = page.getByRole('group', { name: 'Follow-ups' }).getByRole('button', { name: /\?$/ });
  assert.equal(await questions.count(), 2);
  await questions.filter({ hasText: 'src/' }).first().click();
  await tab.atRest();
  await page.getByLabel('Findings').first().waitFor();
  await tab.shootAll('overview-question');
  await tab.close();
  await rm(dirname(root), { recursive: true });
});
