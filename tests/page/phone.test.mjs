// The page on a phone, at two sizes, in both themes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SIZES, SMALL, Tab, THEMES } from './browser.mjs';
import { browser, server } from './stage.mjs';

const drawer = ({ page }) => page.getByRole('dialog', { name: 'Sessions' });

async function phone(options) {
  const tab = await Tab.open(browser, { size: 'phone', ...options });
  await tab.page.goto(server.address);
  await tab.live();
  return tab;
}

/** Swipes over the screen, with the events of the system. */
async function swipe(tab, from, to, y = 300) {
  const cdp = await tab.context.newCDPSession(tab.page);
  const at = (x) => [{ x, y }];
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: at(from) });
  for (let step = 1; step <= 6; step += 1) {
    await cdp.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: at(from + ((to - from) * step) / 6) });
    // The browser delivers moves once per frame.
    await tab.page.evaluate(() => new Promise(requestAnimationFrame));
  }
  await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
  await cdp.detach();
}

for (const [size, given] of [
  ['390', SIZES.phone],
  ['360', SMALL],
]) {
  for (const theme of THEMES) {
    test(`at ${size} pixels, ${theme}: nothing scrolls sideways, and touch targets are large enough`, async () => {
      const tab = await phone({ ...given, theme });
      tab.name = `phone${size}-${theme}`;
      const { page } = tab;
      const fits = async (where) => {
        const over = await page.evaluate(
          () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
        );
        assert.equal(over, 0, `${where} is as wide as the phone`);
        const small = await page.evaluate(() =>
          [...document.querySelectorAll('main button, dialog button, aside.drawer button')]
            .filter((button) => button.checkVisibility({ visibilityProperty: true }) && !button.closest('[inert]'))
            // A link within a text is as high as its line.
            .filter((button) => !button.closest('[role=list]'))
            .map((button) => ({
              name: button.getAttribute('aria-label') ?? button.textContent.trim(),
              height: button.getBoundingClientRect().height,
            }))
            .filter(({ height }) => height > 0 && height < 44),
        );
        assert.deepEqual(small, [], `${where}: every button can be hit`);
        await tab.shoot(where);
      };
      await fits('start');
      await tab.explore();
      await fits('session');
      const composer = await page.getByLabel('Prompt', { exact: true }).boundingBox();
      assert.ok(composer.y > given.viewport.height / 2, 'the composer is where the thumb is');
      await page.getByRole('button', { name: 'Sessions', exact: true }).tap();
      await drawer(tab).waitFor();
      await fits('drawer');
      await tab.close();
    });
  }
}

test('the drawer follows a finger in and out, and keeps the focus', async () => {
  const tab = await phone();
  const { page } = tab;
  await swipe(tab, 200, 380);
  assert.equal(await drawer(tab).count(), 0, 'not from the middle');
  await swipe(tab, 4, 260);
  await drawer(tab).waitFor();
  for (let n = 0; n < 12; n += 1) {
    await page.keyboard.press('Tab');
    assert.ok(
      await page.evaluate(() => document.querySelector('aside').contains(document.activeElement)),
      'Tab stays in the drawer',
    );
  }
  await swipe(tab, 300, 40);
  await drawer(tab).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Sessions', exact: true }).tap();
  await drawer(tab).waitFor();
  await page.touchscreen.tap(380, 400);
  await drawer(tab).waitFor({ state: 'detached' });
  await swipe(tab, 4, 260);
  await page.keyboard.press('Escape');
  await drawer(tab).waitFor({ state: 'detached' });
  await tab.close();
});

test('an on-screen keyboard does not cover the composer', async () => {
  const tab = await Tab.open(browser, { size: 'phone' });
  const { page } = tab;
  // Safari on iOS does not resize the window and reports the keyboard only here.
  await page.addInitScript(() => {
    const seen = Object.assign(new EventTarget(), { height: 844, scale: 1 });
    Object.defineProperty(globalThis, 'visualViewport', { value: seen });
    globalThis.cover = (pixels) => {
      seen.height = innerHeight - pixels;
      seen.dispatchEvent(new Event('resize'));
    };
  });
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  await page.evaluate(() => globalThis.cover(336));
  const send = await page.getByRole('button', { name: 'Send' }).boundingBox();
  assert.ok(send.y + send.height <= 844 - 336, 'Send is above the keyboard');
  await tab.shoot('keyboard-up');
  await page.evaluate(() => globalThis.cover(0));
  const after = await page.getByRole('button', { name: 'Send' }).boundingBox();
  assert.ok(after.y > 700);
  await tab.close();
});

/** Lets the page's clock run, but not long enough for an ordinary ping, until the link is in this state. */
async function passes(page, state) {
  const link = page.locator(`[data-link=${state}]`).first();
  for (let second = 0; second < 8 && !(await link.isVisible()); second += 1) await page.clock.runFor(1_000);
  await link.waitFor();
}

test('a phone that wakes up detects a dead connection at once', async () => {
  const tab = await phone();
  tab.expected.push(/WebSocket/);
  const { page } = tab;
  await page.clock.install();
  server.freeze();
  await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
  await passes(page, 'offline');
  server.thaw();
  await passes(page, 'live');
  await tab.close();
});
