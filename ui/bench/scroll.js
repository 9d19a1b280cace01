// `make bench-page`, second part: what scrolling costs in a transcript of 50,000 rows and in a list of 20,000 sessions.
// The real program serves real logs; Chromium's own trace says how long the page's tasks were.

import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launch } from '../../tests/page/browser.mjs';
import { Fixture } from '../../tests/page/fixture.mjs';
import { Server } from '../../tests/page/server.mjs';
import { say, traced } from './trace.js';

const SESSIONS = 20_000;
const TURNS = 10_000;
/** Rows of a turn: a prompt, a thought, a command, an edit, an answer. */
const ROWS = 5;
const LONG = '6f1b1f2e-3333-4000-8000-0000000000bb';

/** Pixels that are scrolled before each frame: about what a fast wheel does. */
const STEP = 100;
const FRAMES = 400;
const JUMPS = 40;

const fixture = await Fixture.create();
const projects = join(fixture.claude, 'projects', fixture.workspace.replaceAll(/[^A-Za-z0-9]/g, '-'));
await mkdir(projects, { recursive: true });
await writeFile(join(projects, `${LONG}.jsonl`), Array.from({ length: TURNS }, (_, at) => turn(at + 1)).join(''));
for (let at = 0; at < SESSIONS; at += 1) {
  const id = `6f1b1f2e-4444-4000-8000-${String(at).padStart(12, '0')}`;
  const time = new Date(1_780_000_000_000 + at * 60_000).toISOString();
  const said = {
    sessionId: id,
    cwd: fixture.workspace,
    type: 'user',
    timestamp: time,
    message: { role: 'user', content: `Session ${at}: mend what fails on Mondays` },
  };
  await writeFile(join(projects, `${id}.jsonl`), `${JSON.stringify(said)}\n`);
}

const server = await Server.start(fixture);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
try {
  page.setDefaultTimeout(120_000);
  const devtools = await page.context().newCDPSession(page);
  await page.goto(server.address);
  await page.locator('[data-link=live]').waitFor();

  const list = page.getByRole('navigation', { name: 'Sessions' });
  const count = async () => Number(await list.locator('[data-count]').getAttribute('data-count'));
  await list.locator('[data-index="5"]').waitFor();
  for (const stop = Date.now() + 120_000; (await count()) < SESSIONS && Date.now() < stop;) {
    await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.waitForTimeout(20);
  }
  say(`sessions in the list: ${await count()}`, await scrolled(list, STEP), await heap(devtools));
  say('  jumps in it', await jumped(list), null);

  await page.goto(`${server.origin}/#transcript=claude-code:${LONG}`);
  const timeline = page.getByRole('list', { name: 'Timeline' });
  const scroller = page.locator('.timeline > .scroll');
  await timeline.getByText(`Question ${TURNS}`, { exact: true }).waitFor();
  const rows = async () => Number(await timeline.locator('[aria-setsize]').last().getAttribute('aria-setsize'));
  const loading = page.getByText('Loading earlier rows…');
  const reading = await traced(browser, page, async () => {
    while ((await loading.count()) > 0) {
      await scroller.evaluate((element) => element.scrollTo(0, 0));
      await page.waitForTimeout(20);
    }
  });
  say(`reading ${await rows()} of ${TURNS * ROWS} rows upwards`, reading, null);
  await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
  await page.waitForTimeout(500);
  say('scrolling them down', await scrolled(scroller, STEP), null);
  await scroller.evaluate((element) => element.scrollTo(0, element.scrollHeight / 2));
  await page.waitForTimeout(500);
  say('scrolling them up', await scrolled(scroller, -STEP), await heap(devtools));
  say('jumps in them', await jumped(scroller), await heap(devtools));
} finally {
  await browser.close();
  await server.stop();
  await fixture.remove();
}

/** Scrolls by `step` before each frame. */
async function scrolled(scroller, step) {
  let mounted = 0;
  const found = await traced(browser, page, async () => {
    mounted = await scroller.evaluate(
      async (element, [by, frames]) => {
        let most = 0;
        for (let frame = 0; frame < frames; frame += 1) {
          element.scrollTop += by;
          await new Promise((next) => requestAnimationFrame(next));
          most = Math.max(most, element.querySelectorAll('[data-index]').length);
        }
        return most;
      },
      [step, FRAMES],
    );
  });
  return { ...found, mounted };
}

/** Scrolls to places far from each other, as a search or the thumb of the scroll bar does. */
async function jumped(scroller) {
  let mounted = 0;
  const found = await traced(browser, page, async () => {
    mounted = await scroller.evaluate(async (element, jumps) => {
      let most = 0;
      for (let jump = 0; jump < jumps; jump += 1) {
        element.scrollTop = ((jump * 0.381966) % 1) * element.scrollHeight;
        for (let frame = 0; frame < 8; frame += 1) await new Promise((next) => requestAnimationFrame(next));
        most = Math.max(most, element.querySelectorAll('[data-index]').length);
      }
      return most;
    }, JUMPS);
  });
  return { ...found, mounted };
}

async function heap(devtools) {
  await devtools.send('HeapProfiler.enable');
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return usedSize / 1_000_000;
}

function turn(number) {
  const common = {
    sessionId: LONG,
    cwd: fixture.workspace,
    gitBranch: 'main',
    isSidechain: false,
    timestamp: new Date(1_760_000_000_000 + number * 60_000).toISOString(),
  };
  const call = (id, name, input) => ({ type: 'tool_use', id: `${id}-${number}`, name, input });
  const result = (id, text) => ({
    ...common,
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: `${id}-${number}`, content: text }] },
  });
  const says = (part, content) => ({
    ...common,
    type: 'assistant',
    message: { id: `m${number}-${part}`, role: 'assistant', model: 'claude-sonnet-4-5', content: [content] },
  });
  const text =
    number % 3 === 0
      ? `It is **done**:\n\n\`\`\`rust\nfn main() {\n    let n = ${number};\n}\n\`\`\`\n`
      : `Answer ${number}. ${'It is as it is. '.repeat((number * 37) % 30)}`;
  const lines = [
    { ...common, type: 'user', message: { role: 'user', content: `Question ${number}` } },
    says(0, { type: 'thinking', thinking: 'What was asked is clear.' }),
    says(1, call('run', 'Bash', { command: `cargo test case_${number}`, description: 'Run a test' })),
    result('run', `test case_${number} ... ok\n`.repeat(number % 12)),
    says(
      2,
      call('edit', 'Edit', {
        file_path: join(fixture.workspace, 'src/pair.rs'),
        old_string: `let n = ${number - 1};`,
        new_string: `let n = ${number};`,
      }),
    ),
    result('edit', 'The file has been updated.'),
    says(3, { type: 'text', text }),
  ];
  return `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
}
