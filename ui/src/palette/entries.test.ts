import { expect, test } from 'vitest';
import { ownEntry, type Entry } from '../session/entry';
import { foundNote, leftNote, matching, sessionsWith, wordsOf, type PaletteEntry } from './entries';

test('groups are short, and text results stay', () => {
  const entry = (group: PaletteEntry['group'], title: string): PaletteEntry => ({
    key: title,
    group,
    icon: 'chat',
    title,
    note: '',
    run: () => undefined,
  });
  const entries = [
    ...Array.from({ length: 20 }, (_, at) => entry('Sessions', `Pairing ${at}`)),
    entry('Found in sessions', 'Reconnect'),
    entry('Commands', 'Settings'),
  ];
  expect(matching(entries, 'pair').map(({ group }) => group)).toEqual([
    ...Array.from({ length: 8 }, () => 'Sessions'),
    'Found in sessions',
  ]);
});

test('sessions are found by title, agent and workspace, the newest eight', () => {
  const entries: Entry[] = Array.from({ length: 20 }, (_, at) =>
    ownEntry({
      id: `${at}`,
      title: at % 2 === 0 ? `Pairing ${at}` : 'Reconnect',
      cwd: '/code/harbour',
      updatedAt: 100 - at,
      running: false,
      waiting: 0,
    }),
  );
  const ids = (query: string): string =>
    sessionsWith(query, entries, (path) => path.split('/').at(-1) ?? '')
      .map(({ id }) => id)
      .join(' ');
  expect(ids('PAIR harb')).toBe('0 2 4 6 8 10 12 14');
  expect(ids('pairing 18 openagents')).toBe('18');
  expect(ids('nothing')).toBe('');
  expect(ids('')).toBe('0 1 2 3 4 5 6 7');
});

test.each([
  ['prompt', 'a b', 'Prompt: a b · Codex'],
  ['title', undefined, 'Title · Codex'],
  [undefined, 'a b', 'a b · Codex'],
  [undefined, undefined, 'Codex'],
] as const)('%s with %s', (kind, snippet, expected) => expect(foundNote(kind, snippet, 'Codex')).toBe(expected));

test.each([
  [{ sessionEnds: 0, longMessages: 0, toolOutput: true }, 'Tool output'],
  [
    { sessionEnds: 1, longMessages: 2, toolOutput: true },
    'Tool output, the rest of 1 long session and 2 long messages',
  ],
])('%j is left', (left, expected) => expect(leftNote(left)).toBe(expected));

test('query words are folded, may be quoted and are never empty', () => {
  expect(wordsOf('ＡＢ "Two  Words" C:\\Users "" "a" \u201cb c\u201d')).toEqual([
    'ab',
    'two words',
    'c:\\users',
    '""',
    'a',
    'b c',
  ]);
  expect(wordsOf(' Fix  the\tParser ')).toEqual(['fix', 'the', 'parser']);
  expect(wordsOf(' ')).toEqual([]);
});
