import { expect, test } from 'vitest';
import { screen } from './screen';

const drawn = (output: string): string =>
  screen(output)
    .map(({ text, tone, bold }) => (tone === 'plain' && !bold ? text : `<${tone}${bold ? '!' : ''} ${text}>`))
    .join('');

test.each([
  ['plain', 'a\nb\n', 'a\nb\n'],
  ['colours', '\u001b[31mbad\u001b[0m and \u001b[1;32mgood\u001b[0m', '<bad bad> and <good! good>'],
  ['bright colours', '\u001b[91mbad\u001b[39m, \u001b[90mgrey\u001b[0m', '<bad bad>, <faint grey>'],
  ['movements of the cursor', 'a\u001b[2K\u001b[1Gb', 'ab'],
  ['titles of windows', '\u001b]0;title\u0007a\u001b]8;;http://x\u001b\\b', 'ab'],
  ['progress that is written over', '10 %\r50 %\r100 %\ndone\r\n', '100 %\ndone\n'],
  ['an empty line that is written over', 'a\r\r\n\r\nb\r', 'a\n\nb'],
  ['markup', '<b>&amp;</b>', '<b>&amp;</b>'],
  ['nothing', '', ''],
])('%s', (_name, output, expected) => expect(drawn(output)).toBe(expected));

/** Regression: the time grew with the square of a line's length: this took minutes. */
test.each([
  ['', ''],
  ['\r', ''],
  ['\u001b[31m', '\u001b[0m'],
])('a single very long line is drawn: %j', (before, after) => {
  expect(drawn(before + 'x'.repeat(256 * 1024) + after)).toContain('x'.repeat(4_000));
});

test('a very long line is cut, with the number of hidden characters', () => {
  const long = 'x'.repeat(3_999);
  expect(drawn(`${long}x`)).toBe(`${long}x`);
  expect(drawn(`a\n${long}\u001b[31myz\u001b[0m${long}\nb\n${long}xyz`)).toBe(
    `a\n${long}<bad y><faint  … 4,000 more characters>\nb\n${long}x<faint  … 2 more characters>`,
  );
});
