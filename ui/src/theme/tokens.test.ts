import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '..');
const css = readFileSync(join(import.meta.dirname, 'tokens.css'), 'utf8');

type Theme = 'light' | 'dark';

/** Every colour token with a plain value in each theme. */
const tokens = new Map<string, Record<Theme, string>>();
for (const [, name, light, dark] of css.matchAll(/--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)) {
  tokens.set(name ?? '', { light: light ?? '', dark: dark ?? '' });
}

function luminance(hex: string): number {
  const channel = (at: number): number => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const SURFACES = ['bg', 'bg-side', 'bg-raised', 'bg-hover', 'bg-selected'];
/** Text on its surfaces: 4.5 to 1, as WCAG AA requires for small text. */
const TEXT: [string, string[]][] = [
  ['ink', [...SURFACES, 'bg-code']],
  ['ink-2', [...SURFACES, 'bg-code', 'added-soft', 'removed-soft']],
  ['ink-3', [...SURFACES, 'bg-code', 'added-soft', 'removed-soft']],
  ['ink-4', ['bg', 'bg-side', 'bg-raised', 'bg-hover', 'bg-code']],
  ['accent', ['bg', 'bg-side', 'bg-raised', 'bg-hover', 'bg-selected', 'bg-code']],
  ['ok', ['bg', 'bg-side', 'bg-raised', 'bg-code', 'added-soft']],
  ['warn', ['bg', 'bg-side', 'bg-code', 'warn-soft']],
  ['bad', ['bg', 'bg-side', 'bg-raised', 'bg-hover', 'bg-selected', 'bg-code', 'bad-soft', 'removed-soft']],
  ...[1, 2, 3, 4].map((hue): [string, string[]] => [`hue-${hue}`, ['bg-side', 'bg-hover', 'bg-selected']]),
  ['accent-ink', ['accent-fill']],
  ...['comment', 'string', 'number', 'keyword', 'type', 'function', 'tag', 'attribute'].map(
    (kind): [string, string[]] => [`code-${kind}`, ['bg', 'bg-code']],
  ),
  ['mark-ink', ['mark']],
  ['mark-now-ink', ['mark-now']],
];
/** Meaningful marks and borders: 3 to 1. */
const SHAPES: [string, string[]][] = [
  ['field-line', ['bg', 'bg-raised']],
  ['accent-fill', ['bg']],
];

describe.each<Theme>(['light', 'dark'])('%s', (theme) => {
  const of = (name: string): string => tokens.get(name)?.[theme] ?? expect.fail(`there is no token --${name}`);
  test.each(TEXT.flatMap(([ink, on]) => on.map((ground) => [ink, ground] as const)))(
    '--%s is readable on --%s',
    (ink, ground) => {
      expect(contrast(of(ink), of(ground))).toBeGreaterThanOrEqual(4.5);
    },
  );
  test.each(SHAPES.flatMap(([shape, on]) => on.map((ground) => [shape, ground] as const)))(
    '--%s stands out on --%s',
    (shape, ground) => {
      expect(contrast(of(shape), of(ground))).toBeGreaterThanOrEqual(3);
    },
  );
});

test('colours are only in tokens.css', () => {
  const raw = /#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|oklch|oklab|lab|lch|color)\(/i;
  const named = /:\s*(?:white|black|red|green|blue|gr[ae]y|yellow|orange)\b/i;
  const found: string[] = [];
  for (const entry of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(svelte|css)$/.test(entry) || entry.endsWith('tokens.css')) continue;
    const text = readFileSync(join(SRC, entry), 'utf8');
    const styles = entry.endsWith('.css') ? text : (/<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? '');
    styles.split('\n').forEach((line, at) => {
      if (raw.test(line.replace(/color-mix\(/g, '')) || named.test(line))
        found.push(`${entry}:${at + 1}: ${line.trim()}`);
    });
  }
  expect(found).toEqual([]);
});

test("text follows the browser's font size", () => {
  const found: string[] = [];
  for (const entry of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(svelte|css)$/.test(entry)) continue;
    // iOS zooms into smaller fields.
    const text = readFileSync(join(SRC, entry), 'utf8').replaceAll('max(16px, 1rem)', '');
    for (const [declaration] of text.matchAll(
      /(?:[\s;{](?:font|font-size|line-height)|--(?:text|code|field-text)[\w-]*): [^;]*\dpx/g,
    ))
      found.push(`${entry}: ${declaration.trim()}`);
  }
  expect(found).toEqual([]);
});

test('every used token exists', () => {
  const local = new Set(['rows', 'frame-columns', 'digits', 'width', 'asked-height']);
  const missing: string[] = [];
  for (const entry of readdirSync(SRC, { recursive: true, encoding: 'utf8' })) {
    if (!/\.(svelte|css)$/.test(entry)) continue;
    for (const [, name] of readFileSync(join(SRC, entry), 'utf8').matchAll(/var\(--([\w-]+)/g)) {
      if (name !== undefined && !local.has(name) && !css.includes(`--${name}:`)) missing.push(`${entry}: --${name}`);
    }
  }
  expect(missing).toEqual([]);
});

test("a phone's browser bars match the page's background", () => {
  const bg = tokens.get('bg');
  const html = readFileSync(join(SRC, '../index.html'), 'utf8');
  const theme = readFileSync(join(SRC, 'theme/theme.svelte.ts'), 'utf8');
  const manifest = readFileSync(join(SRC, '../public/manifest.webmanifest'), 'utf8');
  for (const name of ['light', 'dark'] as const)
    expect(html).toContain(`content="${bg?.[name]}" media="(prefers-color-scheme: ${name})"`);
  expect(theme).toContain(`{ light: '${bg?.light}', dark: '${bg?.dark}' }`);
  expect(manifest).toContain(`"background_color": "${bg?.dark}"`);
});
