// Agents' activity as rows: changes, output, thoughts, questions, delegated work. Played, because no single agent
// does all of it at once.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { approval, asked, call, news, Played, routed, said, thought } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

async function stage() {
  const tab = await Tab.open(browser);
  const played = await Played.on(tab.page);
  await tab.page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  await played.follow(tab.page);
  return { tab, page: tab.page, played };
}

const LONG = Array.from({ length: 90 }, (_, at) => `line ${at}\n`).join('');
const AFTER = LONG.replace('line 3\n', 'line three\n').replaceAll(/line (4\d)\n/g, 'line $1 has been changed\n');

test("an agent's turn: routing, thoughts, changes, output, late messages", async () => {
  const { tab, page, played } = await stage();
  const path = `${fixture.workspace}/src/pair.rs`;
  played.update(asked('Expire the code after five minutes'));
  played.update(routed({ target: 'codex', reason: 'You asked Codex to change code.', insteadOf: 'gptoss' }));
  played.update(thought('**The code** has to remember when it was made.'));
  played.update(
    call('edit', {
      name: 'apply_patch',
      title: 'Edit src/pair.rs',
      kind: 'edit',
      locations: [{ path, line: 4 }],
      content: [{ type: 'diff', path, oldText: LONG, newText: AFTER }],
    }),
    { ms: 12_000 },
  );
  played.update(news('edit', { status: 'completed' }));
  played.update(call('run', { name: 'shell', title: 'cargo test', kind: 'execute', status: 'in_progress' }));
  const terminal = (more) => ({
    type: 'terminal',
    terminalId: 't1',
    _meta: {
      openagents: {
        terminal: { command: 'cargo test', output: '', truncated: true, exitCode: null, signal: null, ...more },
      },
    },
  });
  played.update(news('run', { content: [terminal({ output: '\u001b[32m   Compiling\u001b[0m harbour\n' })] }));
  played.update(
    news('run', {
      status: 'completed',
      content: [
        terminal({
          output: `\u001b[32m   Compiling\u001b[0m harbour\n${'running a test\n'.repeat(40)}test pairing ... \u001b[31mFAILED\u001b[0m\n`,
          exitCode: 101,
        }),
      ],
    }),
  );
  played.update(
    call('read', {
      name: 'Read',
      title: 'Read README.md',
      kind: 'read',
      status: 'completed',
      content: [
        { type: 'content', content: { type: 'text', text: '```\n# Harbour\n\nHarbour lets a phone approve.\n```\n' } },
      ],
    }),
  );
  played.update(said('The code expires after five minutes now. One test fails.'));
  played.update(said('', { ended: true }));
  played.update(said('I had begun to look at the tests.', { late: true }));

  const chip = page.locator('[data-routed=codex]');
  await chip.getByText('→ Codex instead of GPTOSS 20B').hover();
  await chip.getByText('You asked Codex to change code.').waitFor();
  await page.getByRole('button', { name: 'Thought for 12 s' }).click();
  await page.getByText('has to remember when it was made.').waitFor();
  const diff = page.locator('[data-diff="src/pair.rs"]');
  await diff.getByText('line three').waitFor();
  assert.match(await diff.locator('figcaption').innerText(), /\+11\s+−11/);
  assert.equal(await diff.getByText('line 49 has been changed').count(), 0, 'a long change is folded');
  await diff.getByRole('button', { name: /^Show \d+ more lines$/ }).click();
  await diff.getByText('line 49 has been changed').waitFor();
  const output = page.locator('[data-terminal]');
  await output.getByText('exit code 101').waitFor();
  const pre = output.locator('pre');
  assert.ok(
    (await pre.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight)) < 4,
    'the end is in sight',
  );
  assert.doesNotMatch(await pre.innerText(), /\u001b|\[31m/);
  await page.getByText('Arrived after cancellation').waitFor();
  await tab.shootAll('agent-turn-end');
  await diff.scrollIntoViewIfNeeded();
  await tab.shootAll('agent-turn');
  await tab.close();
});

test('approvals are shown at their call and above the composer, and the first answer counts', async () => {
  const { tab, page, played } = await stage();
  const command = {
    text: '/usr/bin/cargo test --quiet',
    program: '/usr/bin/cargo',
    args: ['test', '--quiet'],
    cwd: fixture.workspace,
  };
  played.update(asked('Run the tests'));
  played.update(call('run', { name: 'shell', title: 'cargo test --quiet', kind: 'execute' }));
  played.update(approval('run', { command }));
  played.update(call('rm', { name: 'shell', title: 'Remove target', kind: 'execute' }));
  played.update(
    approval('rm', {
      agent: 'Claude Code',
      title: 'Remove target',
      command: { text: 'rm -rf target' },
      rawInput: { command: 'rm -rf target', description: 'Clean up' },
    }),
  );
  const first = page.locator('[data-approval="approval-run"]');
  await first.getByText('/usr/bin/cargo test --quiet').waitFor();
  const second = page.locator('[data-approval="approval-rm"]');
  await second.getByText("OpenAgents can't enforce it", { exact: false }).waitFor();
  await second.getByText('Details from the agent').click();
  await tab.shootAll('approvals');

  // Off screen, they are listed above the composer.
  await page.locator('[data-approval-bar]').waitFor({ state: 'detached' });
  for (let n = 0; n < 30; n += 1)
    played.update(
      call(`more-${n}`, {
        name: 'search.grep',
        title: 'search.grep',
        status: 'completed',
        rawInput: { pattern: `needle ${n}` },
      }),
    );
  const bar = page.locator('[data-approval-bar]');
  await bar.getByText('Codex asks: Run cargo test · 1 more').waitFor();
  await tab.shootAll('approval-bar');
  // What is not on screen is not approved: the bar only leads there.
  assert.deepEqual(await bar.getByRole('button').allInnerTexts(), ['Review']);
  await bar.getByRole('button', { name: 'Review' }).click();
  await first.waitFor();
  // The keyboard is at the question, not at an answer.
  await page.waitForFunction((element) => element === document.activeElement, await first.elementHandle());

  // Another device was first: the answer that counts is shown, with its device.
  const answered = {
    id: 'approval-run',
    callId: 'run',
    agent: 'Codex',
    title: 'Run cargo test',
    hash: '',
    options: approval('run')._meta.openagents.approval.options,
    state: 'answered',
    optionId: 'reject',
    by: 'iPhone',
    at: Date.now(),
    askedAt: 1,
  };
  played.answers['_openagents/approvals/answer'] = () => {
    played.update(approval('run', answered));
    return answered;
  };
  await first.getByRole('button', { name: 'Allow', exact: true }).click();
  await first.getByText('Your answer came too late. Denied on iPhone').waitFor();
  const sent = played.sent.find(({ method }) => method === '_openagents/approvals/answer');
  assert.deepEqual(sent.params, { sessionId: played.session, approvalId: 'approval-run', optionId: 'allow' });
  assert.equal(
    await first.evaluate((element) => element === document.activeElement),
    true,
    'the keyboard stays where it was',
  );

  // Answered on another device; withdrawn with its agent; refused by the server.
  played.answers['_openagents/approvals/resume'] = () => {
    throw new Error('the session is at work');
  };
  played.update(approval('rm', { agent: 'Claude Code', state: 'withdrawn' }));
  await second.getByText('Claude Code exited before you answered.').waitFor();
  await second.getByRole('button', { name: 'Resume' }).click();
  await second.getByRole('alert').getByText('The session is at work.').waitFor();
  await tab.shootAll('approvals-over');
  await tab.close();
});

/** Regression: the list took no clicks while it scrolled, which is all the time while rows arrive. */
test('rows accept clicks while new ones arrive', async () => {
  const { tab, page, played } = await stage();
  const seen = new Set();
  for (let n = 0; n < 60; n += 1) {
    played.update(
      call(`more-${n}`, {
        name: 'search.grep',
        title: 'search.grep',
        status: 'completed',
        rawInput: { pattern: `needle ${n}` },
      }),
    );
    const row = page.locator('[aria-label="Timeline"] [role="listitem"]').last();
    await row.waitFor();
    seen.add(await row.evaluate((element) => getComputedStyle(element).pointerEvents));
  }
  assert.deepEqual([...seen], ['auto']);
  await tab.close();
});

/** Regression: while rows arrived, the button moved away between press and release, and the click was lost. */
test('a button that moves while pressed is clicked unless the pointer is dragged away', async () => {
  const { tab, page, played } = await stage();
  played.answers['_openagents/approvals/answer'] = () => {
    const answered = approval('run', { state: 'answered', optionId: 'allow', by: 'Browser', at: Date.now() });
    played.update(answered);
    return answered._meta.openagents.approval;
  };
  const answers = () => played.sent.filter(({ method }) => method === '_openagents/approvals/answer').length;
  played.update(asked('Run the tests'));
  played.update(call('run', { name: 'shell', title: 'cargo test', kind: 'execute' }));
  played.update(approval('run'));
  const allow = page.locator('[data-approval="approval-run"]').getByRole('button', { name: 'Allow', exact: true });
  const press = async () => {
    await allow.click({ trial: true });
    await page.locator('.scroll').evaluate((scroller) => scroller.scrollTo(0, scroller.scrollHeight));
    const box = await allow.boundingBox();
    await page.mouse.move(box.x + 10, box.y + 10);
    await page.mouse.down();
    return box;
  };

  const before = await press();
  await page.mouse.move(before.x + 300, before.y + 10, { steps: 5 });
  await page.mouse.up();

  await press();
  for (let n = 0; n < 8; n += 1)
    played.update(
      call(`more-${n}`, {
        name: 'search.grep',
        title: 'search.grep',
        status: 'completed',
        rawInput: { pattern: `needle ${n}` },
      }),
    );
  await page.waitForFunction(
    ([button, y]) => button.getBoundingClientRect().y < y - 60,
    [await allow.elementHandle(), before.y],
  );
  await page.mouse.up();
  await page.locator('[data-approval="approval-run"]').getByText('Allowed on Browser').waitFor();
  assert.equal(answers(), 1, 'the first press was dragged away');
  await tab.close();
});

test('keys allow or deny the approval on screen, but not while a prompt is being written', async () => {
  const { tab, page, played } = await stage();
  const sent = () => played.sent.filter(({ method }) => method === '_openagents/approvals/answer');
  played.answers['_openagents/approvals/answer'] = ({ approvalId, optionId }) => {
    const answered = approval(approvalId.slice('approval-'.length), {
      state: 'answered',
      optionId,
      by: 'Browser',
      at: 1,
    });
    played.update(answered);
    return answered._meta.openagents.approval;
  };
  const prompt = page.getByRole('textbox', { name: 'Prompt' });
  for (const [id, keys, option, outcome] of [
    ['one', 'Control+Enter', 'allow', 'Allowed on Browser'],
    ['two', 'Control+Backspace', 'reject', 'Denied on Browser'],
  ]) {
    played.update(call(id, { name: 'shell', title: `make ${id}`, kind: 'execute' }));
    played.update(approval(id));
    const card = page.locator(`[data-approval="approval-${id}"]`);
    await card.getByRole('button', { name: 'Allow', exact: true }).click({ trial: true });
    const before = sent().length;
    await prompt.fill('Go on');
    await page.keyboard.press('Control+Backspace');
    await prompt.fill('');
    assert.equal(sent().length, before, 'the keys belonged to the text');
    await page.keyboard.press(keys);
    await card.getByText(outcome).waitFor();
    assert.equal(sent().at(-1).params.optionId, option);
  }
  await tab.close();
});

test('an approval cannot be answered by an Enter that was meant for something else', async () => {
  const { tab, page, played } = await stage();
  await page.getByLabel('Prompt', { exact: true }).fill('half a sentence');
  played.update(call('run', { name: 'shell', title: 'cargo test', kind: 'execute' }));
  played.update(approval('run', {}));
  await page.locator('[data-approval="approval-run"]').waitFor();
  assert.equal(
    await page.getByLabel('Prompt', { exact: true }).evaluate((element) => element === document.activeElement),
    true,
  );
  assert.equal(
    played.sent.some(({ method }) => method === '_openagents/approvals/answer'),
    false,
  );
  await tab.close();
});

test('delegated work is a card: live, with its questions, then the brief next to the changes', async () => {
  const { tab, page, played } = await stage();
  const path = `${fixture.workspace}/src/pair.rs`;
  const args = {
    provider: 'codex',
    description: 'Expire the pairing code',
    user_prompt: 'Expire the code after **five minutes**.\n\nDone when:\n- the tests pass',
    files_include_glob: ['src/**'],
    time_budget_ms: 600_000,
  };
  const inside = { parentCallId: 'd', childSessionId: 'child-1' };
  played.update(call('d', { name: 'delegate.run', title: 'delegate.run', status: 'in_progress', rawInput: args }));
  played.update(asked(args.user_prompt), inside);
  played.update(thought('Where is the code made?'), inside);
  played.update(said('I look at the pairing first.'), inside);
  for (let n = 0; n < 14; n += 1)
    played.update(
      call(`grep-${n}`, { name: 'grep', title: `Search for "pair" ${n}`, kind: 'search', status: 'completed' }),
      inside,
    );
  played.update(
    call('edit', {
      name: 'apply_patch',
      title: 'Edit src/pair.rs',
      kind: 'edit',
      locations: [{ path }],
      content: [{ type: 'diff', path, oldText: 'fn pair() {}\n', newText: 'fn pair() {\n    expire();\n}\n' }],
    }),
    inside,
  );
  played.update(approval('edit', { title: 'Edit src/pair.rs' }), inside);

  const card = page.locator('[data-delegate=codex]');
  await card.getByText(/^waiting for approval · /).waitFor();
  // What a screen reader hears has no clock in it, or it would speak every second.
  assert.equal(await card.locator('header').getByRole('status').textContent(), 'waiting for approval');
  await card.getByText('Show 9 earlier rows').waitFor();
  await tab.shootAll('delegate-waiting');
  played.answers['_openagents/approvals/answer'] = ({ sessionId }) => {
    assert.equal(sessionId, 'child-1', 'the session that asks is the one that is answered');
    const { approval: answered } = approval('edit', {
      title: 'Edit src/pair.rs',
      state: 'answered',
      optionId: 'allow',
      by: 'Browser',
      at: Date.now(),
    })._meta.openagents;
    played.update(approval('edit', answered), inside);
    return answered;
  };
  await card.getByRole('button', { name: 'Allow', exact: true }).click();
  await card.getByText('Allowed on Browser').waitFor();
  await card.getByText(/^working/).waitFor();
  await card.getByRole('button', { name: 'Stop', exact: true }).click();
  assert.ok(played.sent.some(({ method, params }) => method === 'session/cancel' && params.sessionId === 'child-1'));

  // A row of the delegate has its JSON too.
  await card.getByRole('button', { name: /Search for "pair" 13/ }).click();
  await tab.inspector.getByText('Search for "pair" 13').first().waitFor();
  await page.getByRole('button', { name: 'Close inspector' }).click();

  played.update(news('edit', { status: 'completed' }), inside);
  const report = {
    ok: true,
    provider: 'codex',
    dispatched: true,
    session_id: 'child-1',
    tool_call_id: 'd',
    notes: 'The code **expires** after five minutes.',
  };
  played.update(news('d', { status: 'completed', rawOutput: report }));
  await card.getByText(/^done/).waitFor();
  await card.getByRole('region', { name: 'Brief' }).getByText('five minutes').waitFor();
  await card.getByRole('region', { name: 'Changes', exact: true }).locator('[data-diff="src/pair.rs"]').waitFor();
  assert.equal(await card.getByRole('list', { name: 'Files touched' }).innerText(), 'src/pair.rs');
  await card.evaluate((element) => element.scrollIntoView({ block: 'start' }));
  await tab.shootAll('delegate-done');
  await tab.close();
});

test('a delegation that cannot start shows the reason', async () => {
  const { tab, page, played } = await stage();
  played.update(
    call('d', { name: 'delegate.run', title: 'delegate.run', rawInput: { provider: 'nobody', user_prompt: 'Do it' } }),
  );
  played.update(
    news('d', {
      status: 'completed',
      rawOutput: {
        ok: false,
        provider: 'nobody',
        dispatched: false,
        tool_call_id: 'd',
        notes: 'there is no provider nobody; available are codex and gptoss',
      },
    }),
  );
  const card = page.locator('[data-delegate=nobody]');
  await card.getByText('available are codex and gptoss', { exact: false }).waitFor();
  await card.getByText(/^failed/).waitFor();
  await tab.close();
});

test('the summary becomes an editable brief', async () => {
  const { tab, page, played } = await stage();
  let tries = 0;
  played.answers['_openagents/delegate'] = () => {
    tries += 1;
    if (tries === 1) throw new Error('a turn runs already and eight prompts wait');
    return { toolCallId: 'd' };
  };
  await page.getByRole('button', { name: 'Delegate…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delegate' });
  await dialog.waitFor();
  await tab.shootAll('brief');
  assert.match(await dialog.getByLabel('Evidence').inputValue(), /src\/pair\.rs/);
  assert.equal(await dialog.getByLabel('Workspace').inputValue(), fixture.workspace);
  assert.equal(await dialog.getByLabel('Agent').locator('option[value="claude-code"]').isDisabled(), true);
  await dialog.getByLabel('Agent').selectOption('custom:qwen');
  await dialog.getByLabel('Task').fill('');
  await dialog.getByRole('button', { name: 'Delegate', exact: true }).click();
  await dialog.getByText('Enter a task.').waitFor();
  await dialog.getByLabel('Task').fill('Finish it.');
  await dialog.getByLabel('Time budget').fill('2');
  await dialog.getByRole('button', { name: 'Delegate', exact: true }).click();
  await dialog.getByText('A turn runs already and eight prompts wait.').waitFor();
  await dialog.getByRole('button', { name: 'Delegate', exact: true }).click();
  await dialog.waitFor({ state: 'detached' });
  const { params } = played.sent.findLast(({ method }) => method === '_openagents/delegate');
  assert.equal(params.sessionId, played.session);
  assert.equal(params.arguments.provider, 'custom:qwen');
  assert.equal(params.arguments.time_budget_ms, 120_000);
  assert.match(params.arguments.user_prompt, /^Finish it\.\n\nEvidence:\n- /);

  await page.getByRole('button', { name: 'Delegate…' }).click();
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await tab.close();
});

test('the agent picker shows which agents cannot answer and where to fix it', async () => {
  const { tab, page, played } = await stage();
  played.answers['session/set_mode'] = () => ({});
  await page.getByRole('button', { name: /^Agent: / }).click();
  const menu = page.getByRole('menu', { name: 'Agents' });
  await menu.getByText('which connects it, is not', { exact: false }).waitFor();
  await tab.shootAll('picker');
  assert.equal(await menu.locator('[data-choice=gemini]').count(), 0, 'what was never there is not offered');
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'detached' });
  await page.keyboard.press('Enter');
  await page.keyboard.press('End');
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.locator('[data-mode="custom:qwen"]').getByText('LOCAL').waitFor();
  assert.deepEqual(played.sent.findLast(({ method }) => method === 'session/set_mode').params, {
    sessionId: played.session,
    modeId: 'custom:qwen',
  });
  await page.getByRole('button', { name: /^Agent: / }).click();
  await menu.locator('[data-choice="claude-code"]').click();
  await page.getByRole('heading', { name: 'Agents', exact: true }).waitFor();
  await tab.shootAll('agents');
  await page.getByRole('button', { name: 'Add an agent' }).click();
  await tab.shoot('agents-add');
  played.agents({ checking: true });
  await page.getByText('Checking…').waitFor();
  await page.getByRole('article', { name: 'Gemini' }).getByRole('button', { name: 'Copy' }).waitFor();
  await tab.close();
});

test('decisions are listed in the debug panel, with their reasons', async () => {
  const { tab, page, played } = await stage();
  const decision = (prompt, target, reason) => ({
    ts: Date.now(),
    sessionId: played.session,
    prompt,
    decision: { target, reason },
  });
  played.answers['_openagents/agents/decisions'] = () => ({
    decisions: [
      decision(
        'Use Codex to expire the code after five minutes, and run the tests',
        'codex',
        'You asked Codex to do it.',
      ),
      {
        ...decision('hello', 'inline', 'A greeting.'),
        decision: { target: 'inline', inline: 'answer', reason: 'A greeting is answered at once.' },
      },
      {
        ...decision('Explain src/pair.rs', 'inline', ''),
        decision: {
          target: 'inline',
          inline: 'guidance',
          insteadOf: 'gptoss',
          reason: 'The local model is not downloaded.',
        },
      },
    ],
  });
  await page.keyboard.press('Control+Alt+KeyD');
  await page.getByRole('button', { name: 'Routing' }).click();
  await page.getByText('You asked Codex to do it.').waitFor();
  await tab.shootAll('decisions');
  await page.getByLabel('Filter decisions').fill('greeting');
  await page.getByText('You asked Codex to do it.').waitFor({ state: 'detached' });
  await tab.close();
});

test('scrolling up slowly while rows arrive is not interrupted, and the button returns to the end', async () => {
  const { tab, page, played } = await stage();
  const more = (n) =>
    played.update(
      call(`more-${n}`, {
        name: 'search.grep',
        title: 'search.grep',
        status: 'completed',
        rawInput: { pattern: `needle ${n}` },
      }),
    );
  played.update(asked('Look'));
  for (let n = 0; n < 40; n += 1) more(n);
  await page.getByText("'needle 39'").waitFor();
  const rest = () =>
    page
      .locator('.timeline .scroll')
      .evaluate(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight);
  assert.ok((await rest()) < 4, 'the newest row is in sight');
  await page.locator('.timeline .scroll').hover();
  for (let n = 40; n < 70; n += 1) {
    await page.mouse.wheel(0, -12);
    more(n);
    await page.evaluate(() => new Promise((after) => requestAnimationFrame(() => requestAnimationFrame(after))));
  }
  await page.getByRole('button', { name: 'Latest' }).waitFor();
  assert.ok((await rest()) > 300, 'what is read stays where it is');
  await page.getByRole('button', { name: 'Latest' }).click();
  await page.getByText("'needle 69'").waitFor();
  more(70);
  await page.getByText("'needle 70'").waitFor();
  assert.ok((await rest()) < 4, 'the newest row is followed again');
  await tab.close();
});
