import { expect, test } from 'vitest';
import { enters } from './keys';

test.each([
  ['Enter', { key: 'Enter', isComposing: false, keyCode: 13 }, true],
  ['Enter during a composition', { key: 'Enter', isComposing: true, keyCode: 229 }, false],
  ['Enter that ends a composition, in WebKit', { key: 'Enter', isComposing: false, keyCode: 229 }, false],
  ['another key', { key: 'a', isComposing: false, keyCode: 65 }, false],
])('%s', (_name, event, expected) => expect(enters(event)).toBe(expected));
