import { expect, test } from 'vitest';
import { plain } from './plain';

// The rows of `visible.rs`.
test.each([
  ['cargo test', 'cargo test'],
  ['a\tb\nc', 'a\tb\nc'],
  ['\u001b[2J\r', '\\u{1b}[2J\\u{d}'],
  ['txt.\u202eexe', 'txt.\\u{202e}exe'],
  ['a\u200bb\u2066c\ufeff', 'a\\u{200b}b\\u{2066}c\\u{feff}'],
  ['a\u00a0b\u3000c\u2028', 'a\\u{a0}b\\u{3000}c\\u{2028}'],
  ['\u3164\u2800\uffa0', '\\u{3164}\\u{2800}\\u{ffa0}'],
  ['a\u{e0041}\u00ad\u200d\ufe00', 'a\\u{e0041}\\u{ad}\\u{200d}\\u{fe00}'],
  ['café, cafe\u0301, 日本語, עברית, ไม่', 'café, cafe\u0301, 日本語, עברית, ไม่'],
])('what could mislead is escaped: %j', (text, expected) => {
  expect(plain(text)).toBe(expected);
});
