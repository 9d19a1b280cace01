import { expect, test } from 'vitest';
import { emptyFold, type Fold } from '../session/fold';
import { keepable, surplus } from './offline-store';

function fold(...texts: string[]): Fold {
  return {
    ...emptyFold(),
    seq: texts.length,
    updates: texts.length,
    title: 'T',
    rows: texts.map((text, at) => ({
      kind: 'user',
      key: `u${at}`,
      seqs: [at],
      ts: 0,
      text,
      messageId: null,
      removed: false,
    })),
  };
}

test('a short session is kept in full', () => {
  const whole = fold('one', 'two');
  expect(keepable(whole)).toMatchObject({ fold: whole, cut: false });
});

test('only the end of a long session is kept, without its log', () => {
  const kept = keepable(fold('a'.repeat(500), 'b'.repeat(500), 'c'.repeat(500)), 1_300);
  expect([kept.cut, kept.fold.seq, kept.fold.title, kept.fold.rows.map((row) => row.key)]).toEqual([
    true,
    0,
    'T',
    ['u1', 'u2'],
  ]);
});

test('each row is measured once', () => {
  const long = fold('one', 'two');
  let measured = 0;
  const counted = { ...long.rows[0], toJSON: () => (measured += 1) } as unknown as Fold['rows'][number];
  const first = { ...long, rows: [counted] };
  keepable(first);
  keepable({ ...first, rows: [counted, ...long.rows] });
  expect(measured).toBe(1);
});

test.each([
  ['twenty are kept', Array.from({ length: 22 }, (_, at) => ({ id: `${at}`, bytes: 1 })), ['20', '21']],
  ['five megabytes are kept', Array.from({ length: 4 }, (_, at) => ({ id: `${at}`, bytes: 2_000_000 })), ['2', '3']],
  ['the newest is kept whatever its size', [{ id: 'a', bytes: 9_000_000 }], []],
])('%s', (_name, items, gone) => {
  expect(surplus(items)).toEqual(gone);
});
