// `make bench-page`: what an update costs the page, in Chromium, and beside it what the browser alone needs for the same
// text. Runs the page's own code, unbundled.

import process from 'node:process';
import { createServer } from 'vite';
import { launch } from '../../tests/page/browser.mjs';

const RUNS = 3;

const vite = await createServer({
  root: new URL('..', import.meta.url).pathname,
  appType: 'custom',
  logLevel: 'error',
  server: { host: '127.0.0.1', port: 0, hmr: false, watch: null },
  optimizeDeps: { noDiscovery: true, include: ['anser'] },
});
vite.middlewares.use('/blank', (_request, response) =>
  response.setHeader('Content-Type', 'text/html').end('<!doctype html><body>'),
);
await vite.listen();
const browser = await launch();

try {
  const { port } = vite.httpServer.address();
  /** Runs a measure in a tab of its own and returns the medians of what it measured. */
  const measured = async (name, ...given) => {
    const found = [];
    for (let run = 0; run <= RUNS; run += 1) {
      const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
      await page.goto(`http://127.0.0.1:${port}/blank`);
      found.push(
        await page.evaluate(async ([what, args]) => (await import('/bench/measures.js'))[what](...args), [name, given]),
      );
      await page.close();
    }
    // The first run compiles.
    found.shift();
    return Object.fromEntries(Object.keys(found[0]).map((key) => [key, median(found.map((one) => one[key]))]));
  };
  const say = (what, value, unit, more = '') =>
    process.stdout.write(`${what.padEnd(62)} ${value.toFixed(2).padStart(9)} ${unit.padEnd(3)} ${more}\n`);

  const line = await measured('terminal', 64 * 1024);
  say(
    '64 KB of output in one line: reading it, per update',
    line.screen,
    'ms',
    `split and replace: ${line.plain.toFixed(2)} ms`,
  );
  say('64 KB of output in one line: the page, per update', line.page, 'ms', 'at most 5');
  say('  the same text in an empty page', line.browser, 'ms');

  const [half, whole] = [await measured('answer', 10_000), await measured('answer', 20_000)];
  for (const [what, key] of [
    ['folding', 'fold'],
    ['the page', 'page'],
    ['the same paragraphs in an empty page', 'browser'],
  ]) {
    say(`an answer of 10,000 chunks: ${what}`, half[key], 'ms');
    say(
      `an answer of 20,000 chunks: ${what}`,
      whole[key],
      'ms',
      `× ${(whole[key] / half[key]).toFixed(2)}, 2 is linear`,
    );
  }
} finally {
  await browser.close();
  await vite.close();
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}
