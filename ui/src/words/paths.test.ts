import { expect, test } from 'vitest';
import { baseName, tilde } from './paths';

test.each([
  ['/home/me/code/bridge', 'bridge'],
  ['/home/me/code/bridge/', 'bridge'],
  ['/', '/'],
  ['C:\\code\\bridge', 'bridge'],
])('%s ends in %s', (path, expected) => expect(baseName(path)).toBe(expected));

test.each([
  ['/home/me/code', '~/code'],
  ['/Users/me', '~'],
  ['/root/x', '~/x'],
  ['/rooted/x', '/rooted/x'],
  ['/srv/home/me', '/srv/home/me'],
])('%s is shown as %s', (path, expected) => expect(tilde(path)).toBe(expected));
