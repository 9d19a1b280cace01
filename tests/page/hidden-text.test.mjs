// Titles, paths and commands of agents are shown with what they hide.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { HIDDEN, showsAll } from './hidden-text.mjs';
import { approval, asked, call, news, Played, said } from './played.mjs';
import { browser, fixture, server } from './stage.mjs';

/** Regression: outside of approvals, such characters were drawn: a title showed its end first. */
test('titles, paths and commands hide and reorder nothing, in rows, cards and questions', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  const played = await Played.on(page);
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  await played.follow(page);
  const path = `${fixture.workspace}/${HIDDEN}.rs`;
  const terminal = {
    type: 'terminal',
    terminalId: 't1',
    _meta: {
      openagents: { terminal: { command: HIDDEN, output: 'done', truncated: false, exitCode: 0, signal: null } },
    },
  };
  played.update(asked('Do it'));
  played.update(
    call('edit', {
      name: HIDDEN,
      title: `Edit ${HIDDEN}`,
      kind: 'edit',
      status: 'completed',
      locations: [{ path }],
      content: [{ type: 'diff', path, oldText: 'a\r\n', newText: `${HIDDEN}\r\n` }],
    }),
  );
  played.update(
    call('run', { name: 'shell', title: HIDDEN, kind: 'execute', status: 'completed', content: [terminal] }),
  );
  played.update(
    call('grep', { name: 'search.grep', title: 'search.grep', status: 'completed', rawInput: { pattern: HIDDEN } }),
  );
  played.update(call('bad', { name: 'shell', title: 'Fails', kind: 'execute' }));
  played.update(news('bad', { status: 'failed', _meta: { openagents: { error: HIDDEN } } }));
  const inside = { parentCallId: 'd', childSessionId: 'child-1' };
  played.update(
    call('d', {
      name: 'delegate.run',
      title: 'delegate.run',
      status: 'in_progress',
      rawInput: { provider: 'codex', description: HIDDEN, user_prompt: 'Do it' },
    }),
  );
  played.update(asked('Do it'), inside);
  played.update(
    call('inner', {
      name: 'apply_patch',
      title: HIDDEN,
      kind: 'edit',
      locations: [{ path }],
      content: [{ type: 'diff', path, oldText: 'a\n', newText: 'b\n' }],
    }),
    inside,
  );
  played.update(approval('inner', { title: HIDDEN, rawInput: { note: HIDDEN } }), inside);
  const summary = {
    repository: HIDDEN,
    intent: HIDDEN,
    source: 'readme',
    recent_work: [{ title: HIDDEN, provider: 'codex', session_id: 's', updated_at: 1 }],
    top_files: [`src/${HIDDEN}.rs`],
    followups: [`Where is \`${HIDDEN}\` used?`],
    evidence: [{ kind: 'file', path: `src/${HIDDEN}.rs`, line: 1, text: HIDDEN }],
  };
  played.update(said('', { summary, ended: true }));
  const shown = HIDDEN.replace(/[^\x20-\x7e]/gu, (character) => `\\u{${character.codePointAt(0).toString(16)}}`);
  const main = page.locator('main');
  await main
    .locator('[data-diff]', { hasText: `${shown}.rs` })
    .locator('.added code')
    .getByText(shown, { exact: true })
    .waitFor();
  await main.getByText(`Edit ${shown}`).waitFor();
  await main.locator('[data-terminal] figcaption').getByText(shown).waitFor();
  await main.locator('[data-state=failed]').getByText(shown).waitFor();
  const question = main.locator('[data-approval="approval-inner"]');
  await question.getByText('Details from the agent').click();
  await question.locator('pre', { hasText: '"note"' }).waitFor();
  await main.locator('[data-summary]').last().getByText(`src/${shown}.rs`, { exact: true }).waitFor();
  await showsAll(main);
  await tab.shootAll('hidden-text');
  await tab.close();
});
