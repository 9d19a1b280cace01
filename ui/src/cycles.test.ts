import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

const SRC = import.meta.dirname;
const IMPORT = /^\s*(?:import|export)\s[^'"]*?from\s+'(\.[^']+)'/gm;

const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.(?:ts|svelte)$/.test(file) && !file.endsWith('.test.ts'),
);
const known = new Set(files);

function imports(file: string): string[] {
  const source = readFileSync(join(SRC, file), 'utf8');
  return [...source.matchAll(IMPORT)].flatMap(([, path = '']) => {
    const target = relative(SRC, resolve(SRC, dirname(file), path));
    return (
      [target, `${target}.ts`, join(target, 'index.ts')].find(
        (candidate) => extname(candidate) !== '' && known.has(candidate),
      ) ?? []
    );
  });
}

/** Every cycle that a depth-first walk meets, as `a -> b -> a`. */
function cycles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (node: string, path: string[]): void => {
    const at = path.indexOf(node);
    if (at !== -1) found.push([...path.slice(at), node].join(' -> '));
    if (at !== -1 || done.has(node)) return;
    for (const next of edges.get(node) ?? []) walk(next, [...path, node]);
    done.add(node);
  };
  for (const node of edges.keys()) walk(node, []);
  return found;
}

const edges = new Map(files.map((file) => [file, imports(file)]));

test('imports are found', () => expect(edges.get('main.ts')).toContain('App.svelte'));

test('no file imports itself through others', () => expect(cycles(edges)).toEqual([]));

test('no folder imports itself through others', () => {
  const folders = new Map<string, string[]>();
  for (const [file, targets] of edges) {
    const folder = dirname(file);
    if (folder === '.') continue;
    const others = targets.map((target) => dirname(target)).filter((other) => other !== folder && other !== '.');
    folders.set(folder, [...(folders.get(folder) ?? []), ...others]);
  }
  expect(cycles(folders)).toEqual([]);
});
