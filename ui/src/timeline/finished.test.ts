import { expect, test, vi } from 'vitest';
import { Finished } from './finished';
import type { MessageRow, Row, UserRow } from './rows';

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
test('an answer is announced once, when it is whole', () => {
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

test('of an exploration its sentence is announced', () => {
  const finished = new Finished();
  finished.take('s', true, rows());
  expect(
    finished.take(
      's',
      false,
      rows(said('**Repository:** a', { summary: { repository: 'a', source: 'readme', intent: 'To be.' } })),
    ),
  ).toBe('To be.');
});

test('an earlier answer is not announced: of another session, or of a turn without one', () => {
  const finished = new Finished();
  finished.take('one', true, rows());
  expect(finished.take('two', false, rows(said('Old.')))).toBe('');
  finished.take('two', true, rows());
  expect(finished.take('two', false, rows(said('Old.'), asked('more?')))).toBe('');
});
