import { afterEach, expect, test, vi } from 'vitest';
import { chordText, pressed, runCommand, type Chord, type Command } from './command';

test.each<[Chord, string, string]>([
  [{ code: 'KeyF', mod: true }, '⌘F', 'Ctrl+F'],
  [{ code: 'KeyD', mod: true, alt: true }, '⌘⌥D', 'Ctrl+Alt+D'],
  [{ code: 'KeyG', mod: true, shift: true }, '⌘⇧G', 'Ctrl+Shift+G'],
  [{ key: 'Enter', mod: true }, '⌘↩', 'Ctrl+Enter'],
  [{ key: 'Escape' }, 'Esc', 'Esc'],
  [{ key: '/' }, '/', '/'],
])('%j', (chord, mac, others) => expect([chordText(chord, true), chordText(chord, false)]).toEqual([mac, others]));

afterEach(() => vi.unstubAllGlobals());

const KEYS: Record<string, Chord & Pick<Command, 'inDialogs'>> = {
  debug: { code: 'KeyD', mod: true, alt: true },
  settings: { key: ',', mod: true },
  find: { code: 'KeyF', mod: true },
  next: { code: 'KeyG', mod: true },
  previous: { code: 'KeyG', mod: true, shift: true },
  palette: { code: 'KeyK', mod: true },
  shortcuts: { key: '/', mod: true },
  back: { key: 'Escape' },
  write: { key: '/' },
};

/** The command of a key, and whether the browser's default still happens. */
function press(key: string, more: object = {}, dialog = false, able = true): [string[], boolean] {
  const done: string[] = [];
  let own = true;
  vi.stubGlobal('document', { querySelector: () => (dialog ? {} : null) });
  const commands = Object.entries(KEYS).map(([id, chord]): Command => ({
    id,
    title: id,
    group: 'General',
    icon: 'search',
    keys: [chord],
    ...(id === 'palette' ? { inDialogs: true as const } : {}),
    available: () => able,
    run: (by) => done.push(`${id} by ${by}`),
  }));
  const plain = {
    code: '',
    metaKey: false,
    ctrlKey: false,
    altKey: false,
    shiftKey: false,
    defaultPrevented: false,
    target: { tagName: 'DIV' },
  };
  pressed({ ...plain, key, preventDefault: () => (own = false), ...more } as unknown as KeyboardEvent, commands);
  return [done.map((one) => one.replace(' by key', '')), own];
}

test('Escape in a dialog closes only the dialog', () => {
  expect(press('Escape')).toEqual([['back'], false]);
  expect(press('Escape', {}, true)).toEqual([[], true]);
  expect(press('Escape', { defaultPrevented: true })).toEqual([[], true]);
});

test.each([
  ['∂', { code: 'KeyD', altKey: true, metaKey: true }, ['debug']],
  [',', { ctrlKey: true }, ['settings']],
  ['f', { code: 'KeyF', ctrlKey: true }, ['find']],
  ['а', { code: 'KeyF', ctrlKey: true }, ['find']],
  ['f', { code: 'KeyF' }, []],
  ['g', { code: 'KeyG', metaKey: true }, ['next']],
  ['G', { code: 'KeyG', metaKey: true, shiftKey: true }, ['previous']],
  ['k', { code: 'KeyK', metaKey: true }, ['palette']],
  ['/', {}, ['write']],
  ['/', { shiftKey: true, code: 'Digit7' }, ['write']],
  ['/', { target: { tagName: 'TEXTAREA' } }, []],
  ['/', { target: { tagName: 'TEXTAREA' }, ctrlKey: true }, ['shortcuts']],
  ['/', { shiftKey: true, ctrlKey: true, code: 'Digit7' }, ['shortcuts']],
  ['d', {}, []],
])('%s %j', (key, more, expected) => {
  expect(press(key, more)).toEqual([expected, expected.length === 0]);
});

test('behind a dialog, only commands for dialogs run', () => {
  expect(press('f', { code: 'KeyF', ctrlKey: true }, true)).toEqual([[], true]);
  expect(press('k', { code: 'KeyK', ctrlKey: true }, true)).toEqual([['palette'], false]);
});

test("with nothing to search, the browser's search opens", () => {
  expect(press('f', { code: 'KeyF', ctrlKey: true }, false, false)).toEqual([[], true]);
});

test('the desktop menu runs a command by its id', () => {
  const run = vi.fn();
  const command = (id: string, able: boolean): Command => ({
    id,
    title: id,
    group: 'General',
    icon: 'search',
    available: () => able,
    run,
  });
  const commands = [command('find', true), command('debug', false)];
  for (const id of ['find', 'debug', 'unknown']) runCommand(commands, id, 'menu');
  expect(run.mock.calls).toEqual([['menu']]);
});
