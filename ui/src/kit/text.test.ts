import { expect, test } from 'vitest';
import { fold, marked, pieces, plain, TextPattern } from './text';

/** Marks, shown in brackets. */
const shown = (text: string, ...words: string[]): string =>
  marked(text, words)
    .map((part) => (part.mark ? `[${part.text}]` : part.text))
    .join('');

test.each([
  ['fn followRedirects()', ['redirect'], 'fn follow[Redirect]s()'],
  ['fn pair_code(pair: &str)', ['pair', 'pair_code'], 'fn [pair_code]([pair]: &str)'],
  ['a.*b a+b', ['a.*b'], '[a.*b] a+b'],
  ['if x { fix(if_x) }', ['if'], '[if] x { fix(if_x) }'],
  ['認証はどこ', ['認証'], '[認証]はどこ'],
  ['Cafe\u0301 ＡＢＣ', ['café', 'abc'], '[Cafe\u0301] [ＡＢＣ]'],
  ['C:\\Users [x]', ['c:\\users', '[x]'], '[C:\\Users] [[x]]'],
  ['nothing', [], 'nothing'],
  ['<b>pair</b>', ['pair'], '<b>[pair]</b>'],
])('%s with %j', (text, words, expected) => expect(shown(text, ...words)).toBe(expected));

test.each([
  ['', []],
  ['ls', ['ls']],
  ['a\n\nb', ['a\n', '\n', 'b']],
  ['x'.repeat(170), ['x'.repeat(80), 'x'.repeat(80), 'x'.repeat(10)]],
  [`${'💥'.repeat(81)}\n`, ['💥'.repeat(80), '💥\n']],
])('%j is cut into %j', (text, expected) => {
  expect(pieces(text)).toEqual(expected);
  expect(pieces(text).join('')).toBe(text);
});

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
])('misleading characters are escaped: %j', (text, expected) => {
  expect(plain(text)).toBe(expected);
});

test.each([
  ['Größe', 'grösse'],
  ['STRASSE straße', 'strasse strasse'],
  ['Cafe\u0301 CAFÉ', 'café café'],
  ['ＦＵＬＬ　ｗｉｄｔｈ', 'full width'],
  ['ﾊﾞｸﾞ バグ', 'バグ バグ'],
  ['\u1112\u1161\u11ab글', '한글'],
  ['ΟΔΌΣ οδός', 'οδόσ οδόσ'],
  ['ﬁle ①', 'file 1'],
  ['don’t “quote” a–b', 'don\'t "quote" a-b'],
  ['a \n\t b\u00a0c', 'a b c'],
  ['\ufeffso\u00adft', 'soft'],
  ['İstanbul ISPARTA', 'istanbul isparta'],
])('%j is compared as %j', (text, expected) => expect(fold(text)).toBe(expected));

test.each([
  ['café', 'x Cafe\u0301 y', ['Cafe\u0301']],
  ['file', 'the ﬁle, a File', ['ﬁle', 'File']],
  ['a.b', 'a.b axb A.B', ['a.b', 'A.B']],
  ['two words', 'two\n  words é', ['two\n  words']],
  ['two words', 'two\n  words', ['two\n  words']],
  ['cafe', 'café', []],
  ['x', 'x\u0302', []],
  ['ＡＢ', 'ab é', ['ab']],
  ['ＡＢ', 'ab', ['ab']],
  ['🎉', 'a 🎉 b', ['🎉']],
])('%j is found in %j', (query, text, expected) => {
  expect(new TextPattern(query).ranges(text).map(([from, to]) => text.slice(from, to))).toEqual(expected);
});
