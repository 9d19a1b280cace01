import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [svelte()],
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
  },
  test: { environment: 'node', include: ['src/**/*.test.ts'] },
});
