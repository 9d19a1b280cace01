import { expect, test } from 'vitest';
import { EDITORS, editorLink } from './link';

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

test('a workspace without an absolute path has no links', () =>
  expect(editorLink(vscode.link, '', 'a.rs', 1)).toBeNull());
