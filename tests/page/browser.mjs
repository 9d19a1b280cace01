// Chromium, and the user's actions in it.

import assert from 'node:assert/strict';
import { access, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const { chromium } = createRequire(new URL('../../ui/package.json', import.meta.url))('playwright-core');

const SHOTS = fileURLToPath(new URL('shots/', import.meta.url));
const PROGRAMS = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export const SIZES = {
  desktop: { viewport: { width: 1440, height: 900 } },
  phone: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
};
/** The narrowest supported phone. */
export const SMALL = { viewport: { width: 360, height: 640 }, hasTouch: true, isMobile: true };
export const THEMES = ['light', 'dark'];

/** Starts Chromium, optionally with its own environment. */
export async function launch(env) {
  for (const program of PROGRAMS.filter(Boolean)) {
    const there = await access(program).then(
      () => true,
      () => false,
    );
    if (there) return chromium.launch({ executablePath: program, args: FLAGS, ...(env === undefined ? {} : { env }) });
  }
  throw new Error('There is no Chromium here. scripts/install.sh tests installs it.');
}

/** A tab that collects its errors. */
export class Tab {
  /** Expected console output, such as a refused connection. */
  expected = [/Service Worker registration blocked by Playwright/];
  complaints = [];

  static async open(browser, { size = 'desktop', theme = 'dark', workers = 'block', ...options } = {}) {
    const tab = new Tab();
    tab.name = `${size}-${theme}`;
    tab.context = await browser.newContext({
      ...SIZES[size],
      colorScheme: theme,
      reducedMotion: 'reduce',
      serviceWorkers: workers,
      ...options,
    });
    tab.page = await tab.context.newPage();
    tab.page.setDefaultTimeout(20_000);
    // An answer is on the page twice: the region that announces it to screen readers is not looked at.
    const { page } = tab;
    const getByText = page.getByText.bind(page);
    page.getByText = (...given) => getByText(...given).and(page.locator(':not([data-answered])'));
    tab.page.on('pageerror', (error) => tab.complaints.push(String(error)));
    tab.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) tab.complaints.push(message.text());
    });
    return tab;
  }

  /** Takes a screenshot for people to look at, unless `PICTURES=none`. */
  async shoot(name) {
    if (process.env.PICTURES === 'none') return;
    await mkdir(SHOTS, { recursive: true });
    await this.page.screenshot({ path: `${SHOTS}${this.name}-${name}.png` });
  }

  /** Takes a screenshot in a window as narrow as a phone. */
  async shootNarrow(name) {
    const size = this.page.viewportSize();
    await this.page.setViewportSize(SIZES.phone.viewport);
    await this.shoot(`${name}-narrow`);
    await this.page.setViewportSize(size);
  }

  /** Takes a screenshot in every size and theme and checks that nothing overflows the window. */
  async shootAll(name) {
    const { page, name: before } = this;
    const own = page.viewportSize();
    for (const [size, { viewport }] of Object.entries(SIZES)) {
      await page.setViewportSize(viewport);
      for (const theme of THEMES) {
        await page.emulateMedia({ colorScheme: theme });
        this.name = `${size}-${theme}`;
        await this.shoot(name);
      }
      const overflow = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      );
      assert.equal(overflow, 0, 'nothing reaches out of the window');
    }
    this.name = before;
    await page.setViewportSize(own);
  }

  async live() {
    await this.page.locator('[data-link=live]').waitFor();
  }

  /** Presses Start and waits for the summary and the end of the turn: until then rows still move. */
  async explore() {
    await this.page.getByRole('button', { name: 'Start' }).click();
    await this.page.locator('[data-plan=complete]').waitFor();
    await this.page.locator('[data-summary]').waitFor();
    await this.atRest();
  }

  /** Waits until no turn is running. */
  async turnEnded() {
    await this.page.getByRole('button', { name: 'Stop', exact: true }).waitFor({ state: 'detached' });
  }

  /** Does the same, and waits until all Markdown is rendered: the newest text is shown before its rendering. */
  async atRest() {
    await this.turnEnded();
    await this.page.locator('.markdown > .tail').first().waitFor({ state: 'detached' });
  }

  /** Chooses the agent by its mode. */
  async pick(mode) {
    await this.page.getByRole('button', { name: /^Agent: / }).click();
    await this.page.locator(`[data-choice="${mode}"]`).click();
  }

  row(tool) {
    return this.page.locator(`[data-tool="${tool}"]`).first();
  }

  get inspector() {
    return this.page.getByRole('complementary', { name: 'Inspector' });
  }

  async close() {
    await this.context.close();
    const unexpected = this.complaints.filter((line) => !this.expected.some((pattern) => pattern.test(line)));
    assert.deepEqual(unexpected, [], 'the console of the page has no errors');
  }
}
