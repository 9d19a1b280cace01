import { expect, test } from 'vitest';
import type { Mentionable } from '../session/mentionable';
import { mentionAt, suggestionWords, withPath } from './mention';

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
  ['Fix @par now', 8, 'src/main.rs:12', 'Fix @src/main.rs:12 now', 20],
  ['Like in @the one', 12, '', 'Like in one', 8],
])('%j, caret at %d, completed with %j', (text, caret, path, expected, after) => {
  const mention = mentionAt(text, caret);
  expect(mention).not.toBeNull();
  if (mention !== null) expect(withPath(text, caret, mention, path)).toEqual([expected, after]);
});

test.each<[Mentionable, string, string]>([
  [{ kind: 'file', path: 'README.md' }, '@README.md', ''],
  [{ kind: 'file', path: 'src/main.rs' }, '@main.rs', 'src/main.rs'],
  [{ kind: 'place', name: 'parse', path: 'src/main.rs', line: 12 }, '@parse', 'src/main.rs:12'],
  [{ kind: 'session', title: 'Fix it', agent: 'Codex', provider: 'codex', id: '1' }, 'Fix it', 'Session · Codex'],
])('%j is shown as %j, %j', (named, name, about) => {
  expect(suggestionWords(named)).toEqual([name, about]);
});
