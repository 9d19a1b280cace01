import { expect, test } from 'vitest';
import { mentionAt, withFile } from './mention';

test.each([
  ['@', 1, 0, ''],
  ['@src/ma', 7, 0, 'src/ma'],
  ['Fix @src', 8, 4, 'src'],
  ['Fix (@src', 9, 5, 'src'],
  ['Fix @src now', 8, 4, 'src'],
  ['Fix @src now', 6, 4, 's'],
  ['a\n@b', 4, 2, 'b'],
  ['@"a fi', 6, 0, 'a fi'],
  ['@ünï', 4, 0, 'ünï'],
])('%j, caret at %d: a mention at %d of %j', (text, caret, at, query) => {
  expect(mentionAt(text, caret)).toEqual({ at, query });
});

test.each([
  ['', 0],
  ['Fix it', 6],
  ['me@example.com', 14],
  ['@src now', 8],
  ['@src', 0],
  ['@a@b', 4],
  ['@"a file" x', 11],
])('%j, caret at %d: no mention', (text, caret) => {
  expect(mentionAt(text, caret)).toBeNull();
});

test.each([
  ['Fix @ma', 7, 'src/main.rs', 'Fix @src/main.rs ', 17],
  ['Fix @ma now', 7, 'src/main.rs', 'Fix @src/main.rs now', 17],
  ['@"a', 3, 'a file.txt', '@"a file.txt" ', 14],
])('%j, caret at %d, completed with %j', (text, caret, path, expected, after) => {
  const mention = mentionAt(text, caret);
  expect(mention).not.toBeNull();
  if (mention !== null) expect(withFile(text, caret, mention, path)).toEqual([expected, after]);
});
