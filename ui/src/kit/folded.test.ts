import { expect, test } from 'vitest';
import { fold, TextPattern } from './folded';

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
