import { expect, test } from 'vitest';
import { fenced } from './coloured';

test.each([
  ['let a;', 'src/a.rs', '```rs\nlet a;\n```\n'],
  ['all:', 'Makefile', '```Makefile\nall:\n```\n'],
  ['```js\n````', 'docs/a.md', '`````md\n```js\n````\n`````\n'],
  ['x', 'a.r`s\nx', '```rsx\nx\n```\n'],
])('code is fenced whatever it contains: %j in %j', (code, path, expected) =>
  expect(fenced(code, path)).toBe(expected),
);
