import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Editor } from './editor.svelte';

const openEditor = vi.fn(() => Promise.resolve());
const runEditor = vi.fn(() => Promise.resolve());
const kept = new Map<string, string>();

beforeEach(() => {
  kept.clear();
  vi.clearAllMocks();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
    removeItem: (key: string) => kept.delete(key),
  });
});
afterEach(() => vi.unstubAllGlobals());

test('a choice is stored, and files open there', async () => {
  new Editor({ openEditor }).choose('zed');
  const editor = new Editor({ openEditor });
  expect([editor.choice, editor.label]).toEqual(['zed', 'Open in Zed']);
  await editor.open('/w', 'a.rs', 3);
  expect(openEditor).toHaveBeenCalledWith('zed://file/w/a.rs:3');
  await expect(editor.open('/w', '../a.rs', 3)).rejects.toThrow('not a file in this workspace');
});

test('only the desktop window runs a command', async () => {
  const window = new Editor({ openEditor, runEditor });
  window.choose('command');
  window.setCommand('code -g {path}:{line}');
  await new Editor({ openEditor, runEditor }).open('/w', 'a.rs', 3);
  expect(runEditor).toHaveBeenCalledWith('code -g {path}:{line}', '/w', 'a.rs', 3);
  expect(new Editor({ openEditor }).choice).toBeNull();
});

test('an unknown stored value is ignored', () => {
  kept.set('openagents.editor', 'emacs');
  expect(new Editor({ openEditor }).choice).toBeNull();
});
