import { afterEach, expect, test, vi } from 'vitest';
import { pressed } from './shortcuts';

afterEach(() => vi.unstubAllGlobals());

/** The action of a key, and whether the browser's default still happens. */
function press(key: string, more: object = {}, dialog = false, able = true): [string[], boolean] {
  const done: string[] = [];
  let own = true;
  vi.stubGlobal('document', { querySelector: () => (dialog ? {} : null) });
  const note = (action: string) => () => done.push(action) > 0 && able;
  const event = { key, code: '', target: { tagName: 'DIV' }, preventDefault: () => (own = false), ...more } as unknown as KeyboardEvent;
  pressed(event, { debug: note('debug'), settings: note('settings'), palette: note('palette'), search: note('search'), back: note('back'), write: note('write') });
  return [done, own];
}

test('Escape in a dialog closes only the dialog', () => {
  expect(press('Escape')).toEqual([['back'], true]);
  expect(press('Escape', {}, true)).toEqual([[], true]);
  expect(press('Escape', { isComposing: true })).toEqual([[], true]);
  expect(press('Escape', { keyCode: 229 })).toEqual([[], true]);
});

test.each([
  ['∂', { code: 'KeyD', altKey: true, metaKey: true }, [['debug'], false]],
  [',', { ctrlKey: true }, [['settings'], false]],
  ['f', { code: 'KeyF', ctrlKey: true }, [['search'], false]],
  ['k', { code: 'KeyK', metaKey: true }, [['palette'], false]],
  ['/', {}, [['write'], false]],
  ['/', { target: { tagName: 'TEXTAREA' } }, [[], true]],
  ['d', {}, [[], true]],
])('%s', (key, more, expected) => {
  expect(press(key, more)).toEqual(expected);
});

test('without anything to search, the browser’s search opens', () => {
  expect(press('f', { code: 'KeyF', ctrlKey: true }, false, false)).toEqual([['search'], true]);
});
