// Find in a session: ours and those of other agents, in what is drawn, scrolled away, folded, and not read.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SIZES, Tab, THEMES } from './browser.mjs';
import { asked, call, Played, said, thought } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

const LONG = '6f1b1f2e-2222-4000-8000-0000000000bb';

const field = (page) => page.getByRole('textbox', { name: 'Find in session' });
const count = (page, text) => page.locator('[data-find]').getByText(text, { exact: true }).waitFor();
/** The text that is marked as the current match, once it is in view. */
async function current(page) {
  const shown = await page.waitForFunction(() => {
    const range = [...(CSS.highlights.get('found-now') ?? [])][0];
    const box = range?.getBoundingClientRect();
    const view = document.querySelector('.timeline > .scroll').getBoundingClientRect();
    return box !== undefined && box.height > 0 && box.top >= view.top && box.bottom <= view.bottom
      ? { text: range.toString(), within: range.startContainer.parentElement.textContent }
      : false;
  });
  return shown.jsonValue();
}

async function played(options) {
  const tab = await Tab.open(browser, options);
  const session = await Played.on(tab.page);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await session.follow(tab.page);
  return { tab, page: tab.page, played: session };
}

const OUTPUT = Array.from({ length: 300 }, (_, at) => `line ${at}${at === 222 ? ' Needle in the output' : ''}\n`).join(
  '',
);

/** A session with the word in a prompt, a thought, an output, a change, arguments and an answer, far apart. */
function needles({ played }) {
  const filler = (from) => {
    for (let n = from; n < from + 60; n += 1)
      played.update(
        call(`hay-${n}`, {
          name: 'search.grep',
          title: 'search.grep',
          status: 'completed',
          rawInput: { pattern: `hay ${n}` },
        }),
      );
  };
  played.update(asked('Where is the needle?'));
  filler(0);
  played.update(thought('The needle may be in the hay.'));
  played.update(
    call('run', {
      name: 'Bash',
      title: 'Run the tests',
      kind: 'execute',
      status: 'completed',
      content: [{ type: 'content', content: { type: 'text', text: OUTPUT } }],
    }),
  );
  filler(100);
  played.update(
    call('edit', {
      name: 'Edit',
      title: 'Edit hay.rs',
      kind: 'edit',
      status: 'completed',
      rawInput: { why: 'a needle was there' },
      content: [
        { type: 'diff', path: `${fixture.workspace}/hay.rs`, oldText: 'a\nneedle();\n', newText: 'a\nhay();\n' },
      ],
    }),
  );
  filler(200);
  played.update(
    said('It is **a nee**dle:\n\n```rust\nfn needle() -> u8 {\n    // the needle\n    1\n}\n```\n', { ended: true }),
  );
}

test('every occurrence is found, unfolded, scrolled to and marked, and Escape returns the focus', async () => {
  const stage = await played();
  const { tab, page } = stage;
  needles(stage);
  await page.getByText('It is', { exact: false }).last().waitFor();
  const prompt = page.getByLabel('Prompt', { exact: true });
  await prompt.focus();
  await page.keyboard.press('Control+F');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Find in session');
  await page.keyboard.type('NEEDLE');
  await count(page, '6 of 8');
  assert.equal((await current(page)).text, 'needle');
  await tab.shoot('find');

  const within = [];
  for (let steps = 0; steps < 3; steps += 1) {
    await page.keyboard.press('Enter');
    await count(page, `${((6 + steps) % 8) + 1} of 8`);
    if (steps < 2) within.push((await current(page)).text);
  }
  assert.deepEqual(within, ['needle', 'needle']);
  // Round again, to the prompt at the top, which was scrolled away.
  assert.match((await current(page)).within, /Where is the needle/);
  await page.getByRole('button', { name: 'Next match' }).click();
  assert.match((await current(page)).within, /may be in the hay/);
  await page.keyboard.press('Control+g');
  await count(page, '3 of 8');
  assert.match((await current(page)).text, /Needle/);
  await tab.shoot('find-unfolded');
  assert.ok(
    await page.locator('details', { hasText: 'Output · 300 lines' }).evaluate((details) => details.open),
    'the output is unfolded',
  );
  await page.keyboard.press('Control+Shift+G');
  await count(page, '2 of 8');
  await page.keyboard.press('Control+F');
  await page.keyboard.press('Shift+Enter');
  await count(page, '1 of 8');
  await field(page).fill('nothing like this');
  await count(page, 'No matches');
  await page.keyboard.press('Escape');
  await field(page).waitFor({ state: 'detached' });
  assert.equal(
    await prompt.evaluate((element) => element === document.activeElement),
    true,
    'the focus is where it was',
  );
  assert.equal(await page.evaluate(() => CSS.highlights.size), 0);
  await tab.close();
});

test('with the focus in the inspector, find searches its JSON', async () => {
  const tab = await Tab.open(browser);
  const { page, inspector } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.row('session.list').click();
  await inspector.waitFor();
  await page.keyboard.press('Control+F');
  await field(page).waitFor();
  await page.keyboard.press('Escape');
  await inspector.getByRole('button', { name: 'Copy' }).focus();
  await page.keyboard.press('Control+F');
  await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Search in JSON');
  assert.equal(await field(page).count(), 0);
  await tab.close();
});

test('fifty thousand rows are searched, drawn or not', async () => {
  const ROWS = 50_000;
  const tab = await Tab.open(browser);
  const { page } = tab;
  await page.addInitScript(() => {
    globalThis.WebSocket = class extends WebSocket {
      constructor(...given) {
        super(...given);
        globalThis.wire = this;
      }
    };
  });
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const session = decodeURIComponent(new URL(page.url()).hash.replace('#session=', ''));
  const first = Number(await page.locator('[data-updates]').getAttribute('data-updates')) + 1;
  await page.evaluate(
    ([rows, session, seq]) => {
      for (let n = 0; n < rows; n += 1) {
        const update = {
          sessionUpdate: 'tool_call',
          toolCallId: `extra-${n}`,
          name: 'Read',
          title: `Read file ${n}.rs`,
          kind: 'read',
          status: 'completed',
          rawInput: { path: `src/file ${n}.rs` },
          content: [{ type: 'content', content: { type: 'text', text: `It says ${n} and more.` } }],
        };
        const params = {
          sessionId: session,
          update,
          _meta: { openagents: { seq: seq + n, ts: 1_700_000_000_000 + n } },
        };
        globalThis.wire.dispatchEvent(
          new MessageEvent('message', { data: JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params }) }),
        );
      }
    },
    [ROWS, session, first],
  );
  await page.locator(`[data-updates="${first + ROWS - 1}"]`).waitFor({ state: 'attached', timeout: 60_000 });
  await page.keyboard.press('Control+F');
  await field(page).fill('read file 777');
  await page
    .locator('[data-find]')
    .getByText(/of 11$/)
    .waitFor();
  const before = await current(page);
  await page.keyboard.press('Enter');
  await page.waitForFunction(
    (text) => [...(CSS.highlights.get('found-now') ?? [])][0]?.startContainer.parentElement.textContent !== text,
    before.within,
  );
  assert.match((await current(page)).within, /Read file 777/);
  await tab.close();
});

test("in another agent's session, matches in unloaded parts are found and opened", async () => {
  await fixture.long(LONG, 1500);
  const tab = await Tab.open(browser);
  const session = await Played.on(tab.page);
  const { page } = tab;
  // Lines 1, 3, 5 … are questions.
  session.answers['_openagents/history/find'] = ({ query }) => ({
    lines: query === 'Question 20' ? [39, ...Array.from({ length: 10 }, (_, at) => 399 + 2 * at)] : [],
    more: false,
  });
  await page.goto(server.address);
  await tab.live();
  await page.goto(`${server.origin}/#transcript=claude-code:${LONG}`);
  const timeline = page.getByRole('list', { name: 'Timeline' });
  await timeline.getByText('Question 1500', { exact: true }).waitFor();
  await page.keyboard.press('Control+F');
  await field(page).fill('Question 20');
  await page
    .locator('[data-find]')
    .getByText(/of 11$/)
    .waitFor();
  await page.keyboard.press('Enter');
  assert.match((await current(page)).within, /^Question 20/);
  await timeline
    .getByText(/^Question 20/)
    .first()
    .waitFor();
  await tab.shoot('find-transcript');
  await page.keyboard.press('Shift+Enter');
  assert.match((await current(page)).within, /^Question 20/);
  await tab.close();
});

test('without log search, the loaded rows are searched', async () => {
  await fixture.long(LONG, 1500);
  const tab = await Tab.open(browser);
  const session = await Played.on(tab.page);
  const { page } = tab;
  session.answers['_openagents/history/find'] = () => {
    throw new Error('no such method');
  };
  await page.goto(server.address);
  await tab.live();
  await page.goto(`${server.origin}/#transcript=claude-code:${LONG}`);
  await page.getByRole('list', { name: 'Timeline' }).getByText('Question 1500', { exact: true }).waitFor();
  await page.keyboard.press('Control+F');
  await field(page).fill('Question 1499');
  await count(page, '1 of 1');
  assert.equal((await current(page)).text, 'Question 1499');
  await tab.close();
});

for (const size of Object.keys(SIZES)) {
  test(`${size}: the find bar and the marks in both themes`, async () => {
    for (const theme of THEMES) {
      const stage = await played({ size, theme });
      const { tab, page } = stage;
      needles(stage);
      await page.getByRole('button', { name: 'Find in session' }).click();
      await field(page).fill('needle');
      await page.locator('[data-find]').getByText(/of 8$/).waitFor();
      await current(page);
      await tab.shoot('find-marks');
      assert.equal(
        await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
        0,
      );
      await page.getByRole('button', { name: 'Close find' }).click();
      await field(page).waitFor({ state: 'detached' });
      await tab.close();
    }
  });
}
