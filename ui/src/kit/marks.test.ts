import { expect, test } from 'vitest';
import { marked } from './marks';

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
