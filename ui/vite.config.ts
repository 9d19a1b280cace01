import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

const WORKER = 'sw.js';

/** Tells the service worker which files it keeps, once all of them are written. */
function precache(): Plugin {
  return {
    name: 'precache',
    apply: 'build',
    writeBundle({ dir = 'dist' }) {
      const paths = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter(
        (path) => path !== WORKER && statSync(join(dir, path)).isFile(),
      );
      const version = createHash('sha256');
      for (const path of paths.sort()) version.update(path).update(readFileSync(join(dir, path)));
      const files = paths.map((path) => (path === 'index.html' ? './' : `./${path.replaceAll('\\', '/')}`));
      const worker = readFileSync(join(dir, WORKER), 'utf8');
      writeFileSync(
        join(dir, WORKER),
        worker.replace('__PAGE__', JSON.stringify({ version: version.digest('hex').slice(0, 16), files })),
      );
    },
  };
}

export default defineConfig({
  plugins: [svelte(), precache()],
  // Relative, so that the same files work at http://127.0.0.1:PORT/ and at tauri://localhost.
  base: './',
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    // Inlined assets become data: URIs, which the page's content policy refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // WKWebView and WebKitGTK follow the system: macOS 13 and Debian 12 are the oldest that we build for.
    target: ['safari16.4', 'chrome111'],
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      input: { index: 'index.html', sw: 'worker/sw.ts' },
      // A worker governs what lies beneath its own address, which must not change.
      output: { entryFileNames: ({ name }) => (name === 'sw' ? WORKER : 'assets/[name]-[hash].js') },
    },
  },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
