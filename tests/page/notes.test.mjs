// Notices, compactions and plans as text, and edits that are allowed until the turn ends. Played: other tests have real
// agents.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { approval, call, Played } from './played.mjs';
import { browser, server } from './stage.mjs';

const notice = (severity, title, description, count = 1) => ({
  sessionUpdate: 'notice',
  severity,
  title,
  description,
  _meta: { openagents: { id: title, count } },
});
const compaction = (status, more) => ({ sessionUpdate: 'compaction_update', compactionId: 'c', status, ...more });
const PLAN = '# Plan\n\n1. Read `parser.rs`\n2. Replace the loop\n3. Run the tests';

test('notices, compactions and plans are rows that change in place', async () => {
  const tab = await Played.explored(browser, server);
  const { page, played } = tab;
  const notes = page.locator('main [data-note]');
  played.update(notice('warning', 'MCP server “broken” failed to start', 'Its tools are unavailable. Run /mcp.'));
  played.update(notice('error', 'The login has expired', 'Log in again in Settings.'));
  played.update(compaction('in_progress'));
  await notes.getByText('Compacting the conversation…').waitFor();
  played.update(notice('warning', 'MCP server “broken” failed to start', 'Its tools are unavailable. Run /mcp.', 3));
  await notes.getByText('×3').waitFor();
  played.update(compaction('completed', { summary: [{ type: 'text', text: 'We fixed **the parser**.' }] }));
  const folded = notes.getByRole('button', { name: 'Conversation compacted' });
  assert.equal(await folded.getAttribute('aria-expanded'), 'false');
  await folded.press('Enter');
  await notes.getByText('We fixed the parser.').waitFor();
  played.update({
    sessionUpdate: 'plan_update',
    plan: { type: 'markdown', planId: 'p', content: PLAN, path: 'plan.md' },
  });
  await notes.getByText('Replace the loop').waitFor();
  await tab.shootAll('notes');
  played.update({ sessionUpdate: 'plan_removed', planId: 'p' });
  await notes.getByRole('button', { name: 'Plan, withdrawn' }).waitFor();
  await notes.getByText('Replace the loop').waitFor({ state: 'detached' });
  assert.equal(await notes.count(), 4);
  await tab.close();
});

test('edits are allowed until the turn ends, and the permission can be taken back', async () => {
  const tab = await Played.explored(browser, server);
  const { page, played } = tab;
  const options = [
    { id: 'yes', name: 'Allow', kind: 'allow_once' },
    { id: 'openagents:allow-edits', name: 'Allow edits in this folder until this turn ends', kind: 'allow_always' },
    { id: 'no', name: 'Deny', kind: 'reject_once' },
  ];
  const edits = (editsAllowed) => ({
    sessionUpdate: 'session_info_update',
    _meta: { openagents: { agent: 'codex', editsAllowed } },
  });
  const state = { state: 'answered', optionId: 'openagents:allow-edits', by: 'Browser', at: Date.now() };
  played.answers['_openagents/approvals/answer'] = () => {
    const answered = approval('edit', { title: 'Edit a.rs', options, ...state });
    played.update(answered);
    played.update(edits(true));
    return answered._meta.openagents.approval;
  };
  played.answers['_openagents/approvals/ask_before_edits'] = () => {
    played.update(edits(false));
    return {};
  };
  played.update({ sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'Fix the parser' } });
  const diff = { type: 'diff', path: 'a.rs', oldText: 'let a = 1;\n', newText: 'let a = 2;\n' };
  played.update(call('edit', { title: 'Edit a.rs', kind: 'edit', content: [diff] }));
  played.update(approval('edit', { title: 'Edit a.rs', options }));
  await page.getByRole('button', { name: 'Allow edits in this folder until this turn ends' }).first().waitFor();
  await tab.shootAll('allow-edits');
  await page.getByRole('button', { name: 'Allow edits in this folder until this turn ends' }).first().click();
  const bar = page.getByText('may edit files in this folder until this turn ends.');
  await bar.waitFor();
  await tab.shootAll('edits-allowed');
  await page.getByRole('button', { name: 'Ask again' }).click();
  await bar.waitFor({ state: 'detached' });
  assert.equal(played.sent.filter(({ method }) => method === '_openagents/approvals/ask_before_edits').length, 1);
  await tab.close();
});
