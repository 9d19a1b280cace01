// The list of sessions: ours and those of other agents, filtered, grouped, labelled, by keyboard, and at any length.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { Played } from './played.mjs';
import { browser, server } from './stage.mjs';

const HOUR = 3_600_000;
/** Noon, for the page too: what happened an hour ago was today. */
const NOW = new Date().setHours(12, 0, 0, 0);
const NAMES = {
  codex: 'Codex',
  'claude-code': 'Claude Code',
  gemini: 'Gemini CLI',
};

const past = (id, provider, hours, more = {}) => ({
  provider,
  agent: NAMES[provider],
  id,
  title: `Session ${id}`,
  cwd: '/code/harbour',
  branch: 'main',
  model: null,
  createdAt: null,
  updatedAt: NOW - hours * HOUR,
  ...more,
});
const own = (sessionId, hours, more = {}) => ({
  sessionId,
  cwd: '/code/bridge',
  title: `Ours ${sessionId}`,
  updatedAt: new Date(NOW - hours * HOUR).toISOString(),
  _meta: { openagents: more },
});

const PAST = [
  past('a', 'codex', 0.1),
  past('b', 'claude-code', 0.2, { cwd: '/code/pier', branch: 'fix' }),
  past('c', 'codex', 60),
  past('d', 'gemini', 24 * 20, { archived: true }),
  past('e', 'claude-code', 24 * 90, { pinned: true }),
];

/** A page with lists that the test plays; `labels` are the labels that it sends. */
async function open({ mine = [own('one', 0.15), own('two', 70)], theirs = PAST, access, ...options } = {}) {
  const tab = await Tab.open(browser, options);
  const { page } = tab;
  await page.clock.setSystemTime(NOW);
  const played = await Played.on(page);
  played.access = access;
  tab.played = played;
  const known = new Map(theirs.map((session) => [session.id, session]));
  played.answers['session/list'] = () => ({ sessions: mine, nextCursor: null });
  played.answers['_openagents/history/list'] = ({ filter = {} }) => ({
    sessions: [...known.values()]
      .filter((session) =>
        Object.entries(filter).every(([name, value]) =>
          name === 'since' ? session.updatedAt >= value : (session[name] ?? false) === value,
        ),
      )
      .sort((a, b) => b.updatedAt - a.updatedAt),
    more: false,
    unread: 0,
  });
  played.answers['_openagents/history/watch'] = () => ({});
  played.answers['_openagents/sessions/label'] = () => ({});
  await page.goto(server.address);
  await tab.live();
  return tab;
}

const nav = ({ page }) => page.getByRole('navigation', { name: 'Sessions' });
const rows = (tab) => nav(tab).getByRole('listitem');
const row = (tab, title) => rows(tab).filter({ hasText: title });
const titles = (tab) => nav(tab).locator('h2, .title').allTextContents();
const sent = (tab, method) => tab.played.sent.filter((frame) => frame.method === method).map(({ params }) => params);

async function menu(tab, title) {
  await row(tab, title).getByRole('button').first().click({ button: 'right' });
  return tab.page.getByRole('menu', { name: 'Session' });
}

async function filter(tab) {
  await tab.page.getByRole('button', { name: 'Filter sessions' }).click();
  await tab.page.getByRole('dialog', { name: 'Filter sessions' }).waitFor();
}

test('all agents are listed together, pinned ones on top, archived ones not at all', async () => {
  const tab = await open();
  await rows(tab).nth(5).waitFor();
  assert.deepEqual(await titles(tab), [
    'Pinned',
    'Session e',
    'Today',
    'Session a',
    'Ours one',
    'Session b',
    'Last 7 days',
    'Session c',
    'Ours two',
  ]);
  await row(tab, 'Session a').getByRole('img', { name: 'Codex' }).waitFor();
  await tab.shootAll('list');

  await filter(tab);
  await tab.shootAll('list-filter');
  await tab.page.getByRole('button', { name: 'Workspace', exact: true }).click();
  await tab.page.keyboard.press('Escape');
  await nav(tab).getByRole('heading', { name: 'harbour' }).waitFor();
  assert.deepEqual(await titles(tab), [
    'Pinned',
    'Session e',
    'harbour',
    'Session a',
    'Session c',
    'bridge',
    'Ours one',
    'Ours two',
    'pier',
    'Session b',
  ]);
  await tab.page.reload();
  await nav(tab).getByRole('heading', { name: 'harbour' }).waitFor();
  await tab.shoot('list-workspaces');
  await tab.close();
});

test('a session branches, and the branch is shown', async () => {
  const tab = await open();
  const { page, played } = tab;
  played.answers['session/fork'] = () => {
    throw new Error('A turn runs in this session; stop it or wait, then branch.');
  };
  await (await menu(tab, 'Ours two')).getByRole('menuitem', { name: 'Branch' }).click();
  await page.getByText("Couldn't branch: A turn runs in this session; stop it or wait, then branch.").waitFor();
  played.answers['session/fork'] = () => ({ sessionId: 'one' });
  await (await menu(tab, 'Ours two')).getByRole('menuitem', { name: 'Branch' }).click();
  await page.waitForFunction(() => location.hash.includes('one'));
  assert.deepEqual(
    sent(tab, 'session/fork').map(({ sessionId }) => sessionId),
    ['two', 'two'],
  );
  assert.equal(
    await (await menu(tab, 'Session a')).getByRole('menuitem', { name: 'Branch' }).count(),
    0,
    'logs of other agents have no branches here',
  );
  await tab.close();
});

test('a filter is shown in a line, cleared there, and named when it hides everything', async () => {
  const tab = await open();
  const { page } = tab;
  await rows(tab).nth(5).waitFor();
  await filter(tab);
  await page.getByLabel('Sessions of').selectOption({ label: 'Claude Code' });
  await row(tab, 'Session a').waitFor({ state: 'detached' });
  await page.getByLabel('Branch').selectOption({ label: 'fix' });
  await page.keyboard.press('Escape');
  assert.deepEqual(await titles(tab), ['Today', 'Session b']);
  await page.getByRole('group', { name: 'Filter' }).getByText('Claude Code · fix').waitFor();
  await tab.shootAll('list-filtered');
  await filter(tab);
  await page.getByLabel('Sessions of').selectOption({ label: 'Codex' });
  await nav(tab).getByText('No session matches all of: Codex, fix.').waitFor();
  await page.getByLabel('Sessions of').selectOption({ label: 'Gemini CLI' });
  await nav(tab).getByText('No sessions for the filter “Gemini CLI”.').waitFor();
  await page.getByLabel('Branch').selectOption({ label: 'All branches' });
  await nav(tab).getByText('All matching sessions are archived.').waitFor();
  await tab.shoot('list-none');
  await page.getByRole('button', { name: 'Only', exact: true }).click();
  await row(tab, 'Session d').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('group', { name: 'Filter' }).getByRole('button', { name: 'Clear filter' }).click();
  await rows(tab).nth(5).waitFor();
  await tab.close();
});

test('older sessions of a filter come from the bridge', async () => {
  const tab = await open();
  const { page } = tab;
  const asked = [];
  tab.played.answers['_openagents/history/list'] = ({ filter: given, after }) => {
    asked.push({
      ...(given === undefined ? {} : { filter: given }),
      ...(after === undefined ? {} : { after: after.id }),
    });
    if (given === undefined) return { sessions: [past('x', 'codex', 1)], more: true, unread: 0 };
    return { sessions: [past('y', 'codex', 900)], more: false, unread: 0 };
  };
  tab.played.notify('_openagents/history/changed', {
    sessions: [],
    removed: [],
    all: true,
  });
  await row(tab, 'Session x').waitFor();
  await filter(tab);
  await page.getByLabel('Sessions of').selectOption({ label: 'Codex' });
  await row(tab, 'Session y').waitFor();
  assert.deepEqual(asked.at(-1), {
    filter: { provider: 'codex', archived: false },
    after: 'x',
  });
  await tab.close();
});

test('pinning, renaming and archiving apply at once; a refused change is reverted', async () => {
  const tab = await open();
  const { page } = tab;
  await rows(tab).nth(5).waitFor();
  let shown = await menu(tab, 'Session a');
  await tab.shoot('list-menu');
  await shown.getByRole('menuitem', { name: 'Pin', exact: true }).click();
  await rows(tab).first().filter({ hasText: 'Session a' }).waitFor();
  assert.deepEqual((await titles(tab)).slice(0, 3), ['Pinned', 'Session a', 'Session e']);

  shown = await menu(tab, 'Ours one');
  await shown.getByRole('menuitem', { name: 'Rename…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Rename session' });
  await tab.shootAll('list-rename');
  await dialog.getByLabel('Title').fill('Pick up the pairing work');
  await page.keyboard.press('Enter');
  await row(tab, 'Pick up the pairing work').waitFor();

  shown = await menu(tab, 'Session b');
  await shown.getByRole('menuitem', { name: 'Archive' }).click();
  await row(tab, 'Session b').waitFor({ state: 'detached' });
  await page.getByText('Session archived.').waitFor();
  await tab.shootAll('list-undo');
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(tab, 'Session b').waitFor();
  assert.deepEqual(sent(tab, '_openagents/sessions/label'), [
    { provider: 'codex', id: 'a', pinned: true },
    { id: 'one', title: 'Pick up the pairing work' },
    { provider: 'claude-code', id: 'b', archived: true },
    { provider: 'claude-code', id: 'b', archived: false },
  ]);

  tab.played.answers['_openagents/sessions/label'] = () => {
    throw new Error('the database is read-only');
  };
  shown = await menu(tab, 'Session e');
  await shown.getByRole('menuitem', { name: 'Unpin' }).click();
  await page.getByText('Not unpinned: The database is read-only.').waitFor();
  assert.deepEqual((await titles(tab)).slice(0, 3), ['Pinned', 'Session a', 'Session e']);
  await tab.close();
});

test('a deletion can be undone for a while before it happens', async () => {
  const tab = await open();
  const { page } = tab;
  tab.played.answers['session/delete'] = () => ({});
  await rows(tab).nth(5).waitFor();
  await page.clock.install();
  await (await menu(tab, 'Ours two')).getByRole('menuitem', { name: 'Delete session' }).click();
  await row(tab, 'Ours two').waitFor({ state: 'detached' });
  await page.getByText('Session deleted.').waitFor();
  await page.getByRole('button', { name: 'Undo' }).click();
  await row(tab, 'Ours two').waitFor();
  await page.clock.runFor(9_000);
  assert.deepEqual(sent(tab, 'session/delete'), []);
  await (await menu(tab, 'Ours two')).getByRole('menuitem', { name: 'Delete session' }).click();
  await row(tab, 'Ours two').waitFor({ state: 'detached' });
  await page.clock.runFor(7_000);
  assert.deepEqual(sent(tab, 'session/delete'), []);
  await page.clock.runFor(2_000);
  await page.getByText('Session deleted.').waitFor({ state: 'detached' });
  assert.deepEqual(sent(tab, 'session/delete'), [{ sessionId: 'two' }]);
  assert.equal(
    await (await menu(tab, 'Session a')).getByRole('menuitem', { name: 'Delete session' }).count(),
    0,
    'logs of other agents are not deleted',
  );
  await tab.close();
});

test('the arrow keys move between the rows, Enter opens one, and the menu opens by key', async () => {
  const tab = await open();
  const { page } = tab;
  await rows(tab).nth(5).waitFor();
  await page.getByRole('button', { name: 'Filter sessions' }).focus();
  await page.keyboard.press('Tab');
  const focused = () =>
    page.evaluate(
      () =>
        document.activeElement?.querySelector('.title')?.textContent ??
        document.activeElement?.getAttribute('aria-label'),
    );
  const focusIsOn = (title) =>
    page.waitForFunction((wanted) => document.activeElement?.querySelector('.title')?.textContent === wanted, title);
  assert.equal(await focused(), 'Session e');
  for (const [key, expected] of [
    ['ArrowDown', 'Session a'],
    ['ArrowDown', 'Ours one'],
    ['ArrowUp', 'Session a'],
    ['ArrowUp', 'Session e'],
    ['ArrowUp', 'Session e'],
    ['End', 'Ours two'],
    ['Home', 'Session e'],
  ]) {
    await page.keyboard.press(key);
    await focusIsOn(expected);
  }
  await page.keyboard.press('Tab');
  assert.equal(await focused(), 'Session menu');
  await page.keyboard.press('Enter');
  await page.getByRole('menuitem', { name: 'Unpin' }).waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('menuitem', { name: 'Unpin' }).waitFor({ state: 'detached' });
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.locator('[data-transcript=a]').waitFor();
  await row(tab, 'Ours one').getByRole('button').first().focus();
  // The next row, also below a heading.
  for (const [archived, next] of [
    ['Ours one', 'Session b'],
    ['Session b', 'Session c'],
  ]) {
    await page.keyboard.press('Shift+F10');
    await page.getByRole('menuitem', { name: 'Archive' }).press('Enter');
    await row(tab, archived).waitFor({ state: 'detached' });
    await focusIsOn(next);
  }
  await tab.close();
});

test('a changed session is listed at once and marked until opened', async () => {
  const tab = await open();
  const { page } = tab;
  await rows(tab).nth(5).waitFor();
  assert.equal(await nav(tab).getByText('unread').count(), 0, 'what is older than the first start counts as read');
  const now = await page.evaluate(() => Date.now());
  tab.played.notify('_openagents/history/changed', {
    sessions: [
      past('c', 'codex', 0, { updatedAt: now }),
      past('n', 'gemini', 0, { title: 'A new one', updatedAt: now + 1 }),
    ],
    removed: [{ provider: 'codex', id: 'a' }],
  });
  await row(tab, 'A new one').waitFor();
  await row(tab, 'Session a').waitFor({ state: 'detached' });
  await row(tab, 'Session c').getByText('unread').waitFor({ state: 'attached' });
  await tab.shootAll('list-unread');
  await row(tab, 'Session c').getByRole('button').first().click();
  await row(tab, 'Session c').getByText('unread').waitFor({ state: 'detached' });
  await page.reload();
  await row(tab, 'Session c').waitFor();
  assert.equal(await row(tab, 'Session c').getByText('unread').count(), 0);
  await tab.close();
});

test('a device that may not see the sessions of other agents lists ours, silently', async () => {
  const tab = await open({
    access: {
      computer: 'Mac',
      scope: 'prompt',
      device: { id: 'd', name: 'Phone' },
    },
    size: 'phone',
  });
  const { page } = tab;
  tab.played.answers['_openagents/history/list'] = () => {
    throw new Error("Other agents' sessions are shown only on the computer that stores them.");
  };
  tab.played.drop();
  await tab.live();
  await page.getByRole('button', { name: 'Sessions', exact: true }).tap();
  await row(tab, 'Ours one').waitFor();
  await nav(tab).locator('[data-provider]').first().waitFor({ state: 'detached' });
  assert.equal(await page.getByRole('alert').count(), 0);
  const button = row(tab, 'Ours one').getByRole('button', {
    name: 'Session menu',
  });
  const box = await button.boundingBox();
  assert.ok(box.height >= 44 && box.width >= 44, 'large enough for a finger');
  await button.tap();
  await page.getByRole('menuitem', { name: 'Pin', exact: true }).waitFor();
  assert.equal(await page.getByRole('menuitem', { name: 'Delete session' }).count(), 0);
  await tab.shoot('list-menu-phone');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Filter sessions' }).tap();
  await page.getByLabel('Sessions of').waitFor();
  await tab.shoot('list-filter-phone');
  await tab.close();
});

test('20,000 sessions scroll with few rows mounted', async () => {
  const PAGE = 500;
  const TOTAL = 20_000;
  const tab = await Tab.open(browser);
  const { page } = tab;
  const played = await Played.on(page);
  const providers = Object.keys(NAMES);
  played.answers['session/list'] = () => ({ sessions: [], nextCursor: null });
  played.answers['_openagents/history/watch'] = () => ({});
  played.answers['_openagents/history/list'] = ({ after }) => {
    const from = after === undefined ? 0 : Number(after.id) + 1;
    return {
      sessions: Array.from({ length: Math.min(PAGE, TOTAL - from) }, (_, at) =>
        past(String(from + at), providers[(from + at) % 3], (from + at) / 20),
      ),
      more: from + PAGE < TOTAL,
      unread: 0,
    };
  };
  await page.goto(server.address);
  await tab.live();
  const list = nav(tab).getByRole('list');
  const count = async () => Number(await list.getAttribute('data-count'));
  await rows(tab).nth(5).waitFor();
  // Read once a round: a page may arrive between two looks.
  for (let known = await count(); known < TOTAL; known = await count()) {
    await nav(tab).evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.waitForFunction(
      (than) => Number(document.querySelector('nav [data-count]')?.dataset.count) > than,
      known,
    );
  }
  await page.getByText('Loading older sessions…').waitFor({ state: 'detached' });
  let most = 0;
  for (let at = 0; at <= 1; at += 0.05) {
    await nav(tab).evaluate((element, to) => element.scrollTo(0, to * element.scrollHeight), at);
    await page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));
    most = Math.max(most, await rows(tab).count());
  }
  assert.ok(most > 10 && most < 60, `${most} rows are mounted`);
  await page.keyboard.press('Control+K');
  await page.getByRole('combobox', { name: 'Search sessions', exact: false }).fill('session 19999');
  await page.getByRole('option').filter({ hasText: 'Session 19999' }).waitFor();
  await tab.close();
});
