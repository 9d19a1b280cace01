import { expect, test } from 'vitest';
import type { Finding } from '../connection/wire';
import { countWords, emptyTitle, matchedWords } from './words';

const rest = { start: 1, end: 2, excerpt: '', score: 1, why: '' };
const file = (path: string): Finding => ({ kind: 'usage', path, ...rest });
const session: Finding = { kind: 'session', provider: 'codex', session_id: 's', ...rest };

test.each<[Finding[], string]>([
  [[file('a')], '1 file'],
  [[file('a'), file('b')], '2 files'],
  [[file('a'), file('a'), session], '2 places in 1 file and 1 session'],
  [[session, session], '2 sessions'],
])('%j', (findings, expected) => expect(countWords({ findings })).toBe(expected));

test.each([
  ['**Found:** nothing for `expiry` in src; try a name from the code', 'Nothing found for `expiry` in src'],
  ['**Found:** nothing for “a b”.', 'Nothing found for “a b”'],
  ['**Found:**\n- `a.rs:1`', 'Nothing found'],
  ['', 'Nothing found'],
])('%j is headed %j', (text, expected) => expect(emptyTitle(text)).toBe(expected));

test.each([
  ['`follow_redirects`, defines `Policy`, `Policy` again', ['follow_redirects', 'Policy']],
  ['touched by the session “Fix it”', []],
  ['an odd ` backtick', []],
])('%s names %j', (why, words) => expect(matchedWords(why)).toEqual(words));
