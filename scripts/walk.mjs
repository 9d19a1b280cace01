// A new user's first work with an agent, and its pictures in the guide: an empty data folder, Claude Code installed by a
// click, a small task to the end. The page, the server, npm and the agent are real; the model answers from a script.
// Needs the programs of a debug build.
//
//   walk.mjs PEERS   PEERS has the model server, scripted-model

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { launch, Tab } from '../tests/page/browser.mjs';
import { Server } from '../tests/page/server.mjs';

const PICTURES = fileURLToPath(new URL('../docs/pictures/', import.meta.url));
const [, , peers] = process.argv;
assert(peers !== undefined, 'Usage: walk.mjs PEERS');

const TASK = 'Add a test for @src/greet.js that covers an empty name';
const TEST = `import test from 'node:test';
import assert from 'node:assert/strict';
import { greet } from '../src/greet.js';

test('an empty name greets everyone', () => {
  assert.equal(greet(''), 'Hello, everyone!');
});
`;
const GREET = `/** Greets someone by name. */
export function greet(name) {
  return \`Hello, \${name === '' ? 'everyone' : name}!\`;
}
`;

// The pictures show it.
const base = join(tmpdir(), 'you');
await mkdir(base);
const folders = { base, home: join(base, '.openagents'), workspace: join(base, 'greeter') };
await mkdir(join(folders.workspace, 'src'), { recursive: true });
await mkdir(join(base, '.claude'));
// Root may not use the mode in which Claude Code asks nothing.
const claude = { permissions: { disableBypassPermissionsMode: 'disable' } };
await writeFile(join(base, '.claude/settings.json'), JSON.stringify(claude));
await writeFile(join(folders.workspace, 'README.md'), '# Greeter\n\nGreets people by name.\n');
await writeFile(join(folders.workspace, 'package.json'), '{"name": "greeter", "type": "module"}\n');
await writeFile(join(folders.workspace, 'src/greet.js'), GREET);

const call = (text, tool) => ({ text, tool_calls: [tool] });
const script = {
  turns: [
    call('I look at the function first.', { intent: 'read_file', path: 'src/greet.js' }),
    call('An empty name greets everyone. I write that down as a test.', {
      intent: 'write_file',
      path: 'test/greet.test.js',
      content: TEST,
    }),
    call('Now I run it.', { intent: 'run', command: 'node --test', arguments: { description: 'Run the tests' } }),
    { text: 'I added `test/greet.test.js`. It covers the empty name, and it passes.' },
  ],
  side: { text: 'Test of an empty name' },
};
const file = join(base, 'script.json');
await writeFile(file, JSON.stringify(script));
const model = spawn(join(peers, 'scripted-model'), ['--port', '0', '--script', file], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const [line] = await once(createInterface({ input: model.stdout }), 'line');
const { port } = JSON.parse(line);

const path = '/usr/local/bin:/usr/bin:/bin';
const server = await Server.start({
  ...folders,
  codex: join(base, '.codex'),
  claude: join(base, '.claude'),
  env: {
    PATH: path,
    OPENAGENTS_AGENT_PATH: path,
    OPENAGENTS_LLAMA_MODEL: '',
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    ANTHROPIC_API_KEY: 'sk-ant-scripted',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    NO_PROXY: '127.0.0.1,localhost',
    IS_SANDBOX: '',
    npm_config_cache: join(homedir(), '.npm'),
    ...(process.env.NPM_CONFIG_USERCONFIG ? {} : { NPM_CONFIG_USERCONFIG: join(homedir(), '.npmrc') }),
  },
});
const browser = await launch();
const tab = await Tab.open(browser, { theme: 'light' });
const { page } = tab;
page.setDefaultTimeout(120_000);

async function picture(name) {
  await page.waitForTimeout(400);
  await page.screenshot({ path: `${PICTURES}agent-${name}.png` });
}

await page.goto(server.address);
await tab.live();
await page.keyboard.press('Control+,');
await page.getByRole('button', { name: 'Agents', exact: true }).click();
const card = page.getByRole('article', { name: 'Claude Code' });
await card.getByRole('button', { name: 'Install…' }).click();
await card.getByText("isn't sandboxed", { exact: false }).waitFor();
await card.getByText("isn't sandboxed", { exact: false }).scrollIntoViewIfNeeded();
await picture('install');
await card.getByRole('button', { name: 'Install', exact: true }).click();
await page.locator('[data-agent="claude-code"][data-agent-state=ready]').waitFor();
await page.keyboard.press('Escape');

await tab.pick('claude-code');
await page.getByLabel('Prompt', { exact: true }).fill(TASK);
await picture('start');
await page.getByRole('button', { name: 'Start' }).click();
await page.getByRole('button', { name: 'Trust', exact: true }).first().waitFor();
await picture('trust');
await page.getByRole('button', { name: 'Trust', exact: true }).first().click();
const allow = page.getByRole('button', { name: /^(Yes|Allow|Allow once)$/ });
await allow.first().waitFor();
await page.locator('[data-diff]').first().waitFor();
await picture('edit');
await allow.first().click();
await page.getByText('node --test').first().waitFor();
await allow.first().waitFor();
await picture('command');
await allow.first().click();
await page.getByText('It covers the empty name, and it passes.', { exact: false }).first().waitFor();
await tab.atRest();
await picture('done');
assert.equal(await readFile(join(folders.workspace, 'test/greet.test.js'), 'utf8'), TEST);

await tab.close();
await browser.close();
await server.stop();
model.kill();
await rm(base, { recursive: true });
