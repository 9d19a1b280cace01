import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Editor, editorLink, EDITORS } from './editor.svelte';

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

test('the editor choice is stored and used to open files', async () => {
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

const [vscode, zed, idea] = EDITORS;

test.each([
  [vscode.link, '/w/harbour', 'src/pair.rs', 12, 'vscode://file/w/harbour/src/pair.rs:12'],
  [zed.link, '/w/harbour/', 'a b.rs', 1, 'zed://file/w/harbour/a%20b.rs:1'],
  [idea.link, '/w', 'a&line=9#x?.rs', 3, 'idea://open?file=/w/a%26line%3D9%23x%3F.rs&line=3'],
  [vscode.link, '/w', '100%/{line}.rs', 3, 'vscode://file/w/100%25/%7Bline%7D.rs:3'],
  [vscode.link, '/w', 'a:b.rs', 0, 'vscode://file/w/a%3Ab.rs:1'],
  [vscode.link, '/', 'etc', 1, 'vscode://file/etc:1'],
  [zed.link, '/w', 'src/\u202egnp.rs', 1, 'zed://file/w/src/%E2%80%AEgnp.rs:1'],
])('%s of %s/%s:%i', (template, root, path, line, expected) =>
  expect(editorLink(template, root, path, line)).toBe(expected),
);

test.each(['/etc/passwd', '../x', 'a/../../x', 'a/./b', 'a//b', '', 'a\0b'])(
  '%j may lead out of the workspace',
  (path) => {
    expect(editorLink(vscode.link, '/w', path, 1)).toBeNull();
  },
);

test('a relative workspace path has no editor links', () => expect(editorLink(vscode.link, '', 'a.rs', 1)).toBeNull());
