import { expect, test } from 'vitest';
import type { Summary } from '../connection/wire';
import { answerAt, type Row } from './rows';

const row = (key: string, more: Partial<Row> = {}): Row =>
  ({ kind: 'message', key, seqs: [], ts: 0, text: '', messageId: null, late: false, ...more }) as Row;
const asked = row('u', { kind: 'user' });
const found = row('f', { findings: { findings: [] } });
const summary = row('s', { summary: { repository: 'r', source: 'none' } satisfies Summary });
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
