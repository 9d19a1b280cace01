import { expect, test } from 'vitest';
import type { SessionConfigOption } from '../connection/wire';
import { arranged, askingWords, label, withValues } from './session-options';

function option(
  id: string,
  category: string | null,
  values: string[],
  currentValue = values[0] ?? '',
): SessionConfigOption {
  return {
    type: 'select',
    id,
    name: id,
    category,
    currentValue,
    options: values.map((value) => ({ value, name: value })),
  };
}

const names = (options: SessionConfigOption[]): [string[], string[]] => {
  const { main, more } = arranged(options);
  return [main.map(({ id }) => id), more.map(({ id }) => id)];
};

test('the model comes first, then effort and mode, and the rest is in the order of the agent', () => {
  const options = [
    option('a/mode', 'mode', ['default']),
    option('a/fast', 'model_config', ['on', 'off']),
    option('a/model', 'model', ['opus']),
    option('a/other', null, ['x']),
    option('a/effort', 'thought_level', ['low']),
    option('a/model2', 'model', ['y']),
  ];
  expect(names(options)).toEqual([
    ['a/model', 'a/effort', 'a/mode'],
    ['a/fast', 'a/other', 'a/model2'],
  ]);
  expect(names([])).toEqual([[], []]);
  expect(names([{ type: 'boolean', id: 'a', name: 'a', currentValue: true }])).toEqual([[], []]);
});

test('values keep their groups, and a current value that is not listed is shown as it is', () => {
  const grouped: SessionConfigOption = {
    ...option('a/model', 'model', []),
    type: 'select',
    currentValue: 'gone',
    options: [
      { group: '0', name: 'Fast', options: [{ value: 'h', name: 'Haiku' }] },
      { group: '1', name: 'Smart', options: [{ value: 'o', name: 'Opus', description: 'Thinks' }] },
    ],
  };
  const [model] = arranged([grouped]).main;
  expect(model?.current).toMatchObject({ value: 'gone', name: 'gone' });
  expect(model?.groups.map(({ heading, choices }) => [heading, choices.map(({ name }) => name)])).toEqual([
    ['Fast', ['Haiku']],
    ['Smart', ['Opus']],
  ]);
});

test('values chosen before the session exists replace the reported ones', () => {
  const options = [option('a/model', 'model', ['x', 'y']), option('a/mode', 'mode', ['default'])];
  const changed = withValues(options, { 'a/model': 'y', 'b/mode': 'z' });
  expect(arranged(changed).main.map(({ current }) => current.value)).toEqual(['y', 'default']);
});

test('a label fits on a button, whatever its signs', () => {
  expect(label({ value: '', name: '😀'.repeat(40), description: '', asks: null })).toBe(`${'😀'.repeat(31)}…`);
  expect(label({ value: '', name: 'Opus', description: '', asks: null })).toBe('Opus');
});

test('only values that ask less say so', () => {
  const meta = (asks: string): SessionConfigOption => ({
    ...option('a/mode', 'mode', []),
    type: 'select',
    currentValue: 'v',
    options: [{ value: 'v', name: 'v', _meta: { openagents: { asks } } }],
  });
  const words = ['ask', 'plan', 'edits', 'bypass'].map((asks) =>
    askingWords(arranged([meta(asks)]).main[0]?.current.asks ?? null),
  );
  expect(words).toEqual([null, null, 'Edits files without asking', 'Asks nothing']);
});
