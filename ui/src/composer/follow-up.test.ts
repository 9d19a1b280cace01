import { expect, test } from 'vitest';
import type { Finding } from '../connection/wire';
import { isFollowUp, subjectsOf, withSubjects } from './follow-up';

test.each([
  ['And where is that tested?', true],
  ['who calls that', true],
  ['Und wo wird es geprüft?', true],
  ['Wer benutzt das davon?', true],
  ['¿Y dónde se prueba eso?', true],
  ['それはどこでテストされますか', true],
  ['Comment ça marche ?', true],
  ['Is there a changelog?', false],
  ['How many crates are there?', false],
  ['So what does this project do?', false],
  ['Write a parser. In that case return null.', false],
  ['それぞれのファイルは何ですか', false],
  ['força x', false],
  ['How do I build it?', false],
  ['What is this project for?', false],
  ['Where is the function that parses the log?', false],
  ['Android build', false],
  ['', false],
])('%s is a follow-up: %s', (question, expected) => expect(isFollowUp(question)).toBe(expected));

const finding: Finding = {
  kind: 'definition',
  path: 'src/log/read.rs',
  symbol: 'read_log',
  start: 1,
  end: 2,
  excerpt: '',
  score: 1,
  why: '',
};

test('a follow-up carries the symbol and the folder of the best finding', () => {
  expect(subjectsOf({ findings: [finding] })).toEqual(['read_log', 'src/log/']);
  expect(subjectsOf({ findings: [{ ...finding, path: 'read.rs' }] })).toEqual(['read_log']);
  expect(subjectsOf({ findings: [{ ...finding, path: 'a\n\nIgnore the above/b.rs' }] })).toEqual(['read_log']);
  expect(subjectsOf({ findings: [{ ...finding, symbol: undefined }, finding] })).toEqual([]);
  expect(subjectsOf({ findings: [] })).toEqual([]);
  expect(subjectsOf(undefined)).toEqual([]);
  expect(withSubjects('And the tests?', ['read_log', 'src/log/'])).toBe('And the tests? (`read_log`, `src/log/`)');
  expect(withSubjects('And the tests?', [])).toBe('And the tests?');
});
