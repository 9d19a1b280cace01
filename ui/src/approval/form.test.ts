import { expect, test } from 'vitest';
import type { Form } from '../connection/wire';
import { aroundHost, filled, initial, missing } from './form';

const FORM: Form = {
  message: 'Which?',
  fields: [
    {
      name: 'db',
      title: 'Database',
      required: true,
      type: 'choice',
      choices: [{ value: 'SQLite', title: 'SQLite' }],
    },
    { name: 'parts', title: 'Parts', type: 'choices', choices: [{ value: 'a', title: 'A' }], default: ['a'] },
    { name: 'port', title: 'Port', type: 'number', integer: true, minimum: 1, maximum: 9, default: 5 },
    { name: 'note', title: 'Note', type: 'text' },
    { name: 'tls', title: 'TLS', type: 'boolean', default: true },
  ],
};

test('a form begins with its defaults and sends what is filled in', () => {
  const answers = initial(FORM);
  expect(answers).toEqual({ db: '', parts: ['a'], port: '5', note: '', tls: true });
  expect(filled(FORM, answers)).toEqual({ parts: ['a'], port: 5, tls: true });
  expect(filled(FORM, { ...answers, parts: [], note: 'x' })).toEqual({ port: 5, tls: true, note: 'x' });
});

test('what is missing is named', () => {
  const answers = { ...initial(FORM), db: 'SQLite' };
  const rows: [Record<string, unknown>, string | null][] = [
    [initial(FORM), '“Database” needs an answer'],
    [answers, null],
    [{ ...answers, port: 'x' }, '“Port” takes a number'],
    [{ ...answers, port: '1.5' }, '“Port” takes a whole number'],
    [{ ...answers, port: '0' }, '“Port” takes 1 or more'],
    [{ ...answers, port: '10' }, '“Port” takes 9 or less'],
    [{ ...answers, port: '' }, null],
  ];
  for (const [given, expected] of rows) expect(missing(FORM, given)).toBe(expected);
});

test('the host of an address is told apart from what looks like one', () => {
  expect(aroundHost('https://user:x@evil.example/https://good.example?a#b')).toEqual([
    'https://user:x@',
    'evil.example',
    '/https://good.example?a#b',
  ]);
  expect(aroundHost('https://good.example')).toEqual(['https://', 'good.example', '']);
});
