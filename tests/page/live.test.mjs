// What agents in terminals are doing. The agent is a process with its name and the file that Claude Code keeps for one.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { SIZES, Tab } from './browser.mjs';
import { browser, fixture, server } from './stage.mjs';

const SESSION = '6f1b1f2e-2222-4000-8000-000000000003';
let agent;
after(() => agent?.kill('SIGKILL'));

/** Writes the status of the agent's process. */
async function report(status) {
  const folder = join(fixture.claude, 'sessions');
  await mkdir(folder, { recursive: true });
  const stat = await readFile(`/proc/${agent.pid}/stat`, 'utf8');
  const procStart = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  const record = {
    pid: agent.pid,
    procStart,
    sessionId: SESSION,
    cwd: fixture.workspace,
    kind: 'interactive',
    ...status,
  };
  await writeFile(join(folder, `${agent.pid}.json`), JSON.stringify(record));
}

test(
  'an agent in a terminal shows that it needs you, works, and is gone',
  { skip: process.platform !== 'linux' },
  async () => {
    const tab = await Tab.open(browser);
    const { page } = tab;
    await page.goto(server.address);
    await tab.live();
    const needs = page.getByRole('region', { name: /^Needs you/ });
    await page.getByRole('navigation', { name: 'Sessions' }).getByText('Write the first draft of QR pairing').waitFor();
    assert.equal(await needs.count(), 0);

    // Without a terminal, an unfinished turn would count as stopped.
    const slug = fixture.workspace.replaceAll(/[^A-Za-z0-9]/g, '-');
    const log = join(fixture.claude, 'projects', slug, `${SESSION}.jsonl`);
    const ended = new Date().toISOString();
    const lines = [
      ['user', { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'ok' }] }],
      ['assistant', { role: 'assistant', stop_reason: 'end_turn', content: [{ type: 'text', text: 'That is all.' }] }],
    ].map(([type, message]) => JSON.stringify({ type, uuid: type, sessionId: SESSION, timestamp: ended, message }));
    await appendFile(log, `${lines.join('\n')}\n`);
    agent = spawn('bash', ['-c', 'exec -a claude sleep 120'], {
      stdio: 'ignore',
    });
    await report({ status: 'waiting', waitingFor: 'permission prompt' });
    await needs.getByText('Write the first draft of QR pairing').waitFor();
    await needs.getByText('approval', { exact: false }).first().waitFor();
    await page.waitForFunction(() => document.title.startsWith('(1) '));
    await tab.shootAll('live-needs');
    const wide = page.viewportSize();
    await page.setViewportSize(SIZES.phone.viewport);
    await page.getByRole('button', { name: 'Sessions', exact: true }).click();
    await needs.getByText('approval', { exact: false }).first().waitFor();
    await tab.shoot('live-phone');
    await page.keyboard.press('Escape');
    await page.setViewportSize(wide);
    await needs.getByRole('button').click();
    const header = page.locator(`[data-transcript="${SESSION}"]`);
    await header.getByText('Needs you: approval', { exact: false }).waitFor();
    await tab.shoot('live-session');

    await report({ status: 'busy' });
    await needs.waitFor({ state: 'detached' });
    await header.getByText('Working', { exact: false }).waitFor();
    await page.locator('[data-live=working]').waitFor();
    await tab.shoot('live-working');

    agent.kill('SIGKILL');
    await rm(join(fixture.claude, `sessions/${agent.pid}.json`));
    await page.locator('[data-live]').waitFor({ state: 'detached' });
    await tab.close();
  },
);
