// Draws the icons of the installed page out of the app's: `node icons.js`, after icons/app-icon.svg has changed.

import { mkdir, readFile } from 'node:fs/promises';
import { chromium } from 'playwright-core';

const app = await readFile(new URL('../icons/app-icon.svg', import.meta.url), 'utf8');
const [ground, ring] = [app.indexOf('<rect'), app.indexOf('<path')];
const defs = app.slice(0, ground);
const mark = app.slice(ring);

/** Without its corners and its margin: the phone cuts the shape. */
const whole = `${defs}<rect width="1024" height="1024" fill="url(#ground)"/>${mark}`;
const rounded = app.replace('viewBox="0 0 1024 1024"', 'viewBox="92 92 840 840"');
/** Android draws what is not transparent in one colour. */
const badge =
  app.slice(0, app.indexOf('<defs')).replace('viewBox="0 0 1024 1024"', 'viewBox="192 192 640 640"') +
  mark.replace('url(#ring)', '#fff');

const folder = new URL('public/icons/', import.meta.url);
await mkdir(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox'],
});
const page = await browser.newPage();
for (const [name, size, svg] of [
  ['192', 192, rounded],
  ['512', 512, rounded],
  ['maskable', 512, whole],
  ['apple-touch', 180, whole],
  ['badge', 96, badge],
]) {
  await page.setViewportSize({ width: size, height: size });
  await page.setContent(`<style>*{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${svg}`);
  await page.screenshot({ path: new URL(`${name}.png`, folder).pathname, omitBackground: true });
}
await browser.close();
