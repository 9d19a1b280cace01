import { describe, expect, test, vi } from 'vitest';
import type { Summary } from '../connection/wire';
import { answerAt, Finished, foldUndone, hiddenBehind, type MessageRow, type Row, type UserRow } from './rows';

const row = (key: string, more: Partial<Row> = {}): Row =>
  ({ kind: 'message', key, seqs: [], ts: 0, text: '', messageId: null, late: false, ...more }) as Row;
const asked = row('u', { kind: 'user' });
const found = row('f', { findings: { findings: [] } });
const summary = row('s', { summary: { repository: 'r', source: 'none' } as Summary });
const said = row('m');

test.each<[string, Row[], number]>([
  ['nothing', [], -1],
  ['words', [asked, said], -1],
  ['a summary', [said, summary], 1],
  ['what was found for goals', [said, found], 1],
  ['what was found for a question', [said, asked, found], 1],
  ['what was found, then a summary', [said, found, said, summary], 1],
  ['a summary of a later question', [asked, found, asked, summary], 3],
  ['words about what was found', [asked, found, said], -1],
])('rows that end with %s', (_, rows, expected) => expect(answerAt(rows)).toBe(expected));

describe('announced answers', () => {
  const base = { key: 'k', seqs: [], ts: 0, messageId: null };
  const asked = (text: string): UserRow => ({ ...base, kind: 'user', text, removed: false });
  const said = (text: string, more: Partial<MessageRow> = {}): MessageRow => ({
    ...base,
    kind: 'message',
    text,
    failed: false,
    late: false,
    ...more,
  });
  const rows =
    (...all: Row[]) =>
    (): Row[] =>
      all;

  /** Regression: answers were never announced to a screen reader. */
  test('an answer is announced once, when complete', () => {
    const finished = new Finished();
    const growing = vi.fn(rows());
    expect(finished.take('s', false, growing)).toBe('');
    expect(finished.take('s', true, growing)).toBe('');
    expect(finished.take('s', true, growing)).toBeNull();
    expect(growing).not.toHaveBeenCalled();
    expect(finished.take('s', false, rows(asked('what?'), said('This.'), said('Too late.', { late: true })))).toBe(
      'This.',
    );
    expect(finished.take('s', false, growing)).toBeNull();
  });

  test('an exploration announces its summary sentence', () => {
    const finished = new Finished();
    finished.take('s', true, rows());
    expect(
      finished.take(
        's',
        false,
        rows(
          said('**Repository:** a', { summary: { repository: 'a', source: 'readme', intent: 'To be.' } as Summary }),
        ),
      ),
    ).toBe('To be.');
  });

  test('answers of other sessions and earlier turns are not announced', () => {
    const finished = new Finished();
    finished.take('one', true, rows());
    expect(finished.take('two', false, rows(said('Old.')))).toBe('');
    finished.take('two', true, rows());
    expect(finished.take('two', false, rows(said('Old.'), asked('more?')))).toBe('');
  });
});

describe('undone turns', () => {
  const row = (key: string, undone = false): Row =>
    ({
      kind: 'user',
      key,
      seqs: [1],
      ts: 0,
      text: key,
      messageId: null,
      ...(undone ? { undone: 0 } : {}),
    }) as Row;
  const rows = [row('a'), row('b', true), row('c', true), row('d'), row('e', true)];
  const shown = (open: string[]): string =>
    foldUndone(rows, new Set(open))
      .map(({ key, undone }) => `${key}${undone ?? ''}`)
      .join(' ');

  test('each run of undone rows folds into its first row, with a count', () => {
    expect(shown([])).toBe('a b2 d e1');
    expect(shown(['b'])).toBe('a b2 c0 d e1');
    expect(foldUndone([], new Set())).toEqual([]);
  });

  test('a hidden row is found behind the first row of its run', () => {
    expect(['a', 'b', 'c', 'e', 'x'].map((key) => hiddenBehind(rows, key))).toEqual([null, 'b', 'b', 'e', null]);
  });
});
