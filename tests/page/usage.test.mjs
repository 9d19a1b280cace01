// Settings → Usage: tokens and costs from the logs of several agents.

import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { browser, fixture, server } from './stage.mjs';

const SESSION = '6f1b1f2e-7777-4000-8000-0000000000';

/** A time of the last days, at noon so that it is the same day in every zone of the tests. */
function at(daysAgo, minutes = 0) {
  const noon = new Date();
  noon.setUTCHours(12, minutes, 0, 0);
  return new Date(noon.getTime() - daysAgo * 86_400_000).toISOString();
}

async function write(path, lines) {
  await mkdir(join(path, '..'), { recursive: true });
  await writeFile(path, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
}

/** A session of Claude Code with a request per entry: `[days ago, output]`. */
async function claude(number, title, requests) {
  const id = `${SESSION}${number}`;
  const own = { cwd: fixture.workspace, sessionId: id };
  const lines = [
    { ...own, type: 'user', uuid: `${id}-u`, timestamp: at(requests[0][0]), message: { role: 'user', content: title } },
  ];
  for (const [place, [days, output]] of requests.entries())
    lines.push({
      ...own,
      type: 'assistant',
      uuid: `${id}-${place}`,
      requestId: `req_${number}_${place}`,
      timestamp: at(days, place),
      message: {
        id: `msg_${number}_${String(place).padStart(20, '0')}`,
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        stop_reason: 'end_turn',
        content: [{ type: 'text', text: 'Done.' }],
        usage: { input_tokens: 1000, cache_read_input_tokens: 100_000, output_tokens: output },
      },
    });
  await write(join(fixture.claude, 'projects', '-w-usage', `${id}.jsonl`), lines);
  return id;
}

/** A session of Codex with its limits. */
async function codex(number, total) {
  const id = `${SESSION}${number}`;
  const [day, clock] = at(1).slice(0, 19).split('T');
  const line = (type, payload) => ({ timestamp: at(1), type, payload });
  const counts = (tokens) => ({
    input_tokens: tokens,
    cached_input_tokens: tokens / 2,
    output_tokens: 900,
    reasoning_output_tokens: 100,
    total_tokens: tokens + 900,
  });
  const resets = Math.floor(Date.now() / 1000) + 7200;
  const path = join(
    fixture.codex,
    'sessions',
    ...day.split('-'),
    `rollout-${day}T${clock.replaceAll(':', '-')}-${id}.jsonl`,
  );
  await write(path, [
    line('session_meta', { id, cwd: fixture.workspace, model_provider: 'openai', cli_version: '0.150.0' }),
    line('turn_context', { cwd: fixture.workspace, model: 'a-model-without-a-price', turn_id: 't1' }),
    line('event_msg', {
      type: 'token_count',
      info: { total_token_usage: counts(total), last_token_usage: counts(total) },
      rate_limits: {
        plan_type: 'plus',
        primary: { used_percent: 41, window_minutes: 300, resets_at: resets },
      },
    }),
  ]);
}

const usage = ({ page }) => page.getByRole('region', { name: 'Settings' });

async function open(options) {
  const tab = await Tab.open(browser, options);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.page.getByRole('button', { name: 'Settings' }).click();
  await tab.page.getByRole('button', { name: 'Usage', exact: true }).click();
  return tab;
}

test('usage of no logs says so; new requests are added up by day, agent, model, session and folder', async () => {
  const empty = await open();
  await empty.page.getByText('No agent made a request on these days', { exact: false }).waitFor();
  await empty.shoot('usage-none');
  await empty.close();

  const first = await claude('01', 'Draw the owl', [
    [9, 400],
    [3, 1200],
    [1, 2000],
  ]);
  await claude('02', 'Rename the harbour', [[0, 50_000]]);
  await codex('03', 300_000);
  const tab = await open();
  const { page } = tab;
  const part = usage(tab);
  // 4,000 of input, 400,000 of the cache and 53,600 of output at $3, $0.30 and $15 a million.
  await part.getByText('$0.94 + 301K tokens without a price').waitFor();
  await part.getByRole('definition').getByText('5', { exact: true }).waitFor();
  await part.getByRole('row', { name: /Claude Code/ }).waitFor();
  await part.getByRole('row', { name: /Codex/ }).getByText('–').waitFor();
  await part.getByText('41% of 5 h', { exact: false }).waitFor();
  await part.getByText('your plan (plus) is billed differently', { exact: false }).waitFor();
  await part.getByText('No price is known for a-model-without-a-price', { exact: false }).waitFor();
  await tab.shootAll('usage');

  // The bars are walked with the arrow keys.
  const bars = part.getByRole('toolbar', { name: 'Cost by day' });
  await bars.getByRole('button').last().focus();
  await page.keyboard.press('ArrowLeft');
  const walked = await page.evaluate(() => document.activeElement?.getAttribute('aria-label'));
  assert.match(walked, /tokens/);
  await page.keyboard.press('Home');
  assert.equal(
    await bars
      .getByRole('button')
      .first()
      .evaluate((bar) => bar === document.activeElement),
    true,
    'the first day has the focus',
  );

  await part.getByRole('button', { name: 'Model', exact: true }).click();
  await part.getByRole('row', { name: /claude-sonnet-4-5/ }).waitFor();
  await part.getByRole('button', { name: 'Folder', exact: true }).click();
  await part.getByRole('row', { name: new RegExp(fixture.workspace) }).waitFor();
  await part.getByRole('button', { name: '7 days' }).click();
  await part.getByRole('definition').getByText('4', { exact: true }).waitFor();

  // What was counted stays when the log is gone, and a row opens its session.
  await rm(join(fixture.claude, 'projects', '-w-usage', `${first}.jsonl`));
  await part.getByRole('button', { name: 'Session', exact: true }).click();
  await part.getByRole('button', { name: 'Rename the harbour' }).waitFor();
  await part.getByRole('row', { name: new RegExp(first) }).waitFor();
  await part.getByRole('button', { name: 'Rename the harbour' }).click();
  await page.getByRole('list', { name: 'Timeline' }).getByText('Rename the harbour').waitFor();
  await tab.close();
});
