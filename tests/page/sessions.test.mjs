// The session list follows other devices, and a long log arrives as a snapshot.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { asked, call, Played, said } from './played.mjs';
import { browser, server } from './stage.mjs';

async function open(options) {
  const tab = await Tab.open(browser, options);
  await tab.page.goto(server.address);
  await tab.live();
  return tab;
}

const list = ({ page }) => page.getByRole('navigation', { name: 'Sessions' }).getByRole('listitem');

test('a session of another device is listed at once and disappears when it is deleted', async () => {
  const [one, two] = [await open(), await open()];
  // Those of the other agents.
  await list(two).nth(2).waitFor();
  const before = await list(two).count();
  await one.explore();
  await one.atRest();
  await list(two).nth(before).waitFor();
  await two.page.goto(`${server.origin}/${new URL(one.page.url()).hash}`);
  await two.page.locator('[data-summary]').waitFor();

  const remove = async () => {
    await one.page.getByRole('button', { name: 'More' }).click();
    await one.shoot('sessions-menu');
    await one.page.getByRole('menuitem', { name: 'Delete session' }).click();
    await one.page.getByText('Session deleted.').waitFor();
    await list(one).nth(before).waitFor({ state: 'detached' });
  };
  await remove();
  await one.shootAll('sessions-delete');
  await one.page.getByRole('button', { name: 'Undo' }).click();
  await list(one).nth(before).waitFor();
  await list(one).first().getByRole('button').first().click();
  await one.page.locator('[data-summary]').waitFor();
  assert.equal(await two.page.getByText('This session was deleted.').count(), 0);
  await remove();
  for (const tab of [one, two]) {
    await tab.page.getByRole('heading', { name: 'Explore a workspace' }).waitFor();
    await list(tab).nth(before).waitFor({ state: 'detached' });
  }
  await two.page.getByText('This session was deleted.').waitFor();
  await one.close();
  await two.close();
});

/** Regression: the list ended after 250 sessions. */
test('older sessions are listed when the end of the list is scrolled into view', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  const played = await Played.on(page);
  const PAGE = 50;
  const TOTAL = 8 * PAGE - 10;
  played.answers['session/list'] = ({ cursor }) => {
    const from = Number(cursor ?? 0);
    const sessions = Array.from({ length: Math.min(PAGE, TOTAL - from) }, (_, at) => ({
      sessionId: `s${from + at}`,
      cwd: '/w',
      title: `Session ${from + at}.`,
      updatedAt: new Date(1_700_000_000_000 - from - at).toISOString(),
    }));
    return { sessions, nextCursor: from + PAGE < TOTAL ? String(from + PAGE) : null };
  };
  played.answers['_openagents/history/list'] = () => ({ sessions: [], more: false, unread: 0 });
  await page.goto(server.address);
  await tab.live();
  const nav = page.getByRole('navigation', { name: 'Sessions' });
  const count = async () => Number(await nav.locator('[data-count]').getAttribute('data-count'));
  await list(tab).first().waitFor();
  assert.equal(await count(), 5 * PAGE);
  const last = list(tab).filter({ hasText: `Session ${TOTAL - 1}.` });
  for (let looks = 0; looks < 500 && (await last.count()) === 0; looks += 1) {
    await nav.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await page.waitForTimeout(20);
  }
  assert.equal(await count(), TOTAL);
  await page.getByText('Loading older sessions…').waitFor({ state: 'detached' });
  await tab.close();
});

test('a long log arrives as a snapshot: the shown state stays until it is complete, then the log continues', async () => {
  const tab = await Tab.open(browser);
  const { page } = tab;
  const played = await Played.on(page);
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  await tab.atRest();
  await played.follow(page);
  const session = played.session;
  played.answers['_openagents/attach'] = () => ({
    sessionId: session,
    seq: 9000,
    running: false,
    mode: 'default_mode',
    title: null,
    approvals: [],
    queue: [],
    snapshot: { seq: 9000, since: 0 },
  });
  await page.reload();
  await page.locator('[data-link=catching-up]').waitFor();
  await page.locator('[data-left="9000"]').waitFor();
  const folded = (seq, update) =>
    played.notify('session/update', {
      sessionId: session,
      update,
      _meta: { openagents: { seq, ts: Date.now(), folded: true } },
    });
  folded(3000, asked('What did I miss?'));
  folded(8700, {
    ...call('c', { name: 'search.grep', title: 'search.grep', kind: 'search', rawInput: { pattern: 'needle' } }),
    status: 'completed',
    rawOutput: { matches: [], total: 0 },
  });
  folded(8000, said('All of this.'));
  await page.locator('[data-left="300"]').waitFor();
  assert.equal(await page.getByText('All of this.').count(), 0, 'nothing half is shown');
  await tab.shoot('sessions-catching-up');
  played.notify('_openagents/snapshot', { sessionId: session, seq: 9000 });
  await page.getByText('All of this.').waitFor();
  await page.locator('[data-updates="9000"]').waitFor();
  await tab.row('search.grep').waitFor();
  assert.equal(await tab.row('search.grep').getAttribute('data-state'), 'done');
  await tab.live();
  const live = (seq, update) =>
    played.notify('session/update', { sessionId: session, update, _meta: { openagents: { seq, ts: Date.now() } } });
  live(9000, said('Seen already.'));
  live(9001, said('And this is new.', { ended: true }));
  await page.getByText('And this is new.').waitFor();
  assert.equal(await page.getByText('Seen already.').count(), 0);
  // A gap: the log is requested again from the last entry.
  live(9003, said('Too early.'));
  for (let tries = 0; tries < 200; tries += 1) {
    if (played.sent.findLast(({ method }) => method === '_openagents/attach').params.since === 9001) break;
    await page.waitForTimeout(20);
  }
  assert.equal(played.sent.findLast(({ method }) => method === '_openagents/attach').params.since, 9001);
  assert.equal(await page.getByText('Too early.').count(), 0);
  await tab.close();
});
