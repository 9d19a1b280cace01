// How rows behave while they are read: what is open stays open, and an update costs only what it changes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { approval, asked, call, Played, said, thought } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

async function stage(options) {
  const tab = await Tab.open(browser, options);
  const played = await Played.on(tab.page);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await played.follow(tab.page);
  return { tab, page: tab.page, played };
}

const LINES = Array.from({ length: 90 }, (_, at) => `line ${at}\n`).join('');
const grep = (n) =>
  call(`grep-${n}`, {
    name: 'search.grep',
    title: 'search.grep',
    status: 'completed',
    rawInput: { pattern: `needle ${n}` },
  });

/** Regression: a row that was scrolled away came back folded. */
test('thoughts, changes and outputs stay open when scrolled away and back', async () => {
  const { tab, page, played } = await stage();
  const path = `${fixture.workspace}/src/pair.rs`;
  played.update(asked('Expire the code'));
  played.update(thought('It has to remember when it was made.'));
  const diff = (n) => ({
    type: 'diff',
    path: `${path}.${n}`,
    oldText: LINES,
    newText: LINES.replaceAll('line', `row ${n}`),
  });
  played.update(
    call('edit', {
      name: 'apply_patch',
      title: 'Edit src/pair.rs',
      kind: 'edit',
      status: 'completed',
      content: [0, 1, 2, 3, 4].map(diff),
    }),
    { ms: 12_000 },
  );
  played.update(
    call('read', {
      name: 'Read',
      title: 'Read README.md',
      kind: 'read',
      status: 'completed',
      content: [{ type: 'content', content: { type: 'text', text: LINES } }],
    }),
  );
  played.update(said('Done.', { ended: true }));
  const thoughts = page.getByRole('button', { name: 'Thought for 12 s' });
  const change = page.locator('[data-diff="src/pair.rs.1"]');
  const output = page.locator('details', { hasText: 'Output · 90 lines' });
  await thoughts.click();
  await change.getByRole('button', { expanded: false }).click();
  await change.getByRole('button', { name: /^Show \d+ more lines$/ }).click();
  await output.locator('summary').click();
  for (let n = 0; n < 120; n += 1) played.update(grep(n));

  const timeline = page.locator('.timeline > .scroll');
  await timeline.evaluate((scroller) => scroller.scrollTo(0, scroller.scrollHeight));
  await page.getByText("'needle 119'").waitFor();
  await thoughts.waitFor({ state: 'detached' });
  await timeline.hover();
  const wheel = async (by, until) => {
    for (let turns = 0; turns < 200 && !(await until.isVisible()); turns += 1) {
      await page.mouse.wheel(0, by);
      await page.evaluate(() => new Promise((after) => requestAnimationFrame(() => requestAnimationFrame(after))));
    }
  };
  await wheel(-600, thoughts);
  await page.getByText('It has to remember when it was made.').waitFor();
  await change.getByText('row 1 89').waitFor({ state: 'attached' });
  // What was opened above it moves it off the screen.
  await wheel(300, output);
  await output.locator('.long').waitFor({ state: 'attached' });
  assert.equal(await output.evaluate((details) => details.open), true);
  await tab.close();
});

/** Regression: so did a finding and a question. */
test('findings and questions stay open when scrolled away and back', async () => {
  const { tab, page, played } = await stage();
  const finding = {
    kind: 'definition',
    path: 'src/pair.rs',
    start: 1,
    end: 90,
    excerpt: LINES,
    symbol: 'pair',
    score: 1,
    why: 'defines `pair`',
  };
  played.update(asked('Where is it?'));
  played.update(said('Found', { findings: { findings: [finding] } }));
  played.update(call('ask', { name: 'Bash', title: 'cargo test', kind: 'execute' }));
  played.update(approval('ask', { rawInput: { command: 'cargo test', why: 'to see' } }));
  const card = page.locator('[data-finding]').last();
  const question = page.locator('[data-approval]').last();
  await card.hover();
  await card.getByRole('button', { name: 'Why' }).click();
  await card.getByRole('button', { name: 'Show all 90 lines' }).click();
  await question.getByText('Details from the agent').click();
  for (let n = 0; n < 120; n += 1) played.update(grep(n));
  const timeline = page.locator('.timeline > .scroll');
  await timeline.evaluate((scroller) => scroller.scrollTo(0, scroller.scrollHeight));
  await page.getByText("'needle 119'").waitFor();
  await question.waitFor({ state: 'detached' });
  for (let looks = 0; looks < 100 && !(await card.isVisible()); looks += 1) {
    await timeline.evaluate((scroller) => (scroller.scrollTop -= 700));
    await page.waitForTimeout(30);
  }
  await card.getByText('defines').waitFor();
  await card.getByText('line 89').waitFor({ state: 'attached' });
  assert.equal(
    await question
      .locator('details')
      .first()
      .evaluate((details) => details.open),
    true,
  );
  await tab.close();
});

/** Regression: each update of a delegate compared every file anew. */
test("a delegate's update compares only the files that it changes", async () => {
  const { tab, page, played } = await stage();
  const path = `${fixture.workspace}/src/pair.rs`;
  const inside = { parentCallId: 'd', childSessionId: 'child-1' };
  played.update(
    call('d', {
      name: 'delegate.run',
      title: 'delegate.run',
      status: 'in_progress',
      rawInput: { provider: 'codex', user_prompt: 'Expire the code' },
    }),
  );
  played.update(asked('Expire the code'), inside);
  played.update(
    call('edit', {
      name: 'apply_patch',
      title: 'Edit src/pair.rs',
      kind: 'edit',
      status: 'completed',
      content: [{ type: 'diff', path, oldText: LINES, newText: LINES.replace('line 3', 'line three') }],
    }),
    inside,
  );
  const card = page.locator('[data-delegate=codex]');
  await card.getByRole('button', { name: /^Brief and changes/ }).click();
  await card.getByText('line three').waitFor();
  // A text is cut into lines to be compared.
  await page.evaluate(() => {
    globalThis.compared = 0;
    const { split } = String.prototype;
    String.prototype.split = function (...how) {
      if (String(this).includes('line 3\n')) globalThis.compared += 1;
      return split.apply(this, how);
    };
  });
  for (let n = 0; n < 10; n += 1) played.update(grep(n), inside);
  await card.getByRole('button', { name: /^Activity 11/ }).waitFor();
  assert.equal(await page.evaluate(() => globalThis.compared), 0);
  await tab.close();
});

/** Regression: the first click of a double click opened the inspector over the word. */
test('a double click selects a word, and a click opens the inspector', async () => {
  const { tab, page, played } = await stage();
  played.update(asked('What now?'));
  played.update(said('Nothing'));
  played.update(said('', { ended: true }));
  await tab.atRest();
  await page.clock.install();
  const word = page.locator('.message', { hasText: 'Nothing' }).getByText('Nothing');
  const position = { x: 12, y: 12 };
  await word.dblclick({ position });
  assert.equal(await page.evaluate(() => getSelection().toString()), 'Nothing');
  await page.clock.runFor(2_000);
  assert.equal(await tab.inspector.count(), 0);
  await page.evaluate(() => getSelection().empty());
  await word.click({ position });
  await page.clock.runFor(2_000);
  await tab.inspector.waitFor();
  await tab.close();
});

/** Regression: answers were not announced. */
test('an answer is announced to screen readers once, when complete', async () => {
  const { tab, page, played } = await stage();
  await tab.atRest();
  const region = page.locator('[data-answered]');
  assert.equal(await region.getAttribute('aria-live'), 'polite');
  await page.evaluate(() => {
    globalThis.announced = [];
    const node = document.querySelector('[data-answered]');
    new MutationObserver(() => globalThis.announced.push(node.textContent)).observe(node, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  played.update(asked('What is left?'));
  for (const word of ['Only ', 'the ', 'tests.']) played.update({ ...said(word), messageId: 'm' });
  await page.locator('.message', { hasText: 'Only the tests.' }).waitFor();
  played.update({ ...said('', { ended: true }), messageId: 'm' });
  await region.getByText('Only the tests.').waitFor();
  assert.deepEqual(await page.evaluate(() => globalThis.announced), ['', 'Only the tests.']);
  await tab.close();
});

/** Regression: a narrow window on a desktop got the sheets of a phone. */
test('in a narrow window questions stay in their rows', async () => {
  const { tab, page, played } = await stage({ viewport: { width: 600, height: 800 } });
  played.update(call('run', { name: 'shell', title: 'cargo test', kind: 'execute' }));
  played.update(approval('run'));
  await page.locator('[data-approval="approval-run"]').getByRole('button', { name: 'Allow', exact: true }).waitFor();
  assert.equal(await page.locator('[data-sheet]').count(), 0);
  await tab.close();
});

/** Regression: the list of sessions was sorted ten times a second while an agent worked. */
test('the list of sessions is not sorted while time passes', async () => {
  const { tab, page, played } = await stage();
  await tab.atRest();
  await page.clock.install();
  played.update(asked('Look'));
  await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
  await page.evaluate(() => {
    globalThis.sorted = 0;
    const { sort } = Array.prototype;
    Array.prototype.sort = function (...how) {
      if (this.some((item) => item?.updatedAt !== undefined)) globalThis.sorted += 1;
      return sort.apply(this, how);
    };
  });
  await page.clock.runFor(5_000);
  assert.equal(await page.evaluate(() => globalThis.sorted), 0);
  await tab.close();
});

/** Regression: a message whose rendering failed stayed plain text for good. */
test('a message that could not be rendered is rendered on the next connection', async () => {
  const { tab, page, played } = await stage();
  await tab.atRest();
  played.answers['_openagents/markdown'] = () => {
    throw new Error('The bridge is closing.');
  };
  played.update(asked('What now?'));
  played.update(said('This is **new**.'));
  played.update(said('', { ended: true }));
  await page.locator('.message', { hasText: 'This is **new**.' }).waitFor();
  await tab.turnEnded();
  delete played.answers['_openagents/markdown'];
  // The server's log has nothing of what was played.
  played.answers['_openagents/attach'] = ({ sessionId }) => ({
    sessionId,
    seq: played.seq,
    running: false,
    mode: 'default_mode',
    title: null,
    approvals: [],
    queue: [],
  });
  played.drop();
  await page.locator('.message strong', { hasText: 'new' }).waitFor();
  await tab.close();
});

/** Regression: an answer that began with the sign of our failures was shown as one. */
test('an answer may start with a cross', async () => {
  const { tab, page, played } = await stage();
  played.update(asked('Run the tests'));
  played.update(said('❌ Three tests fail.'));
  played.update(said('', { ended: true }));
  played.update(asked('Again'));
  played.update({ ...said('❌ Codex is not installed.', { ended: true, failed: true }), messageId: 'm' });
  const message = (text) => page.locator('.message', { hasText: text });
  await message('❌ Three tests fail.').waitFor();
  assert.equal(await message('Three tests fail.').getByRole('img', { name: 'failed' }).count(), 0);
  await message('Codex is not installed.').getByRole('img', { name: 'failed' }).waitFor();
  assert.doesNotMatch(await message('Codex is not installed.').innerText(), /❌/);
  await tab.close();
});
