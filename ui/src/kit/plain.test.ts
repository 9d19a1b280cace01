import { expect, test } from 'vitest';
import { plain } from './plain';

test.each([
  ['src/pair.rs', 'src/pair.rs'],
  ['src/\u202egnp.rs', 'src/\\u{202e}gnp.rs'],
  ['pa\u200bir\ufeff', 'pa\\u{200b}ir\\u{feff}'],
  ['a\tb\nc', 'a\tb\nc'],
  ['\u0000\u001b[31m', '\\u{0}\\u{1b}[31m'],
  ['שלום 👩‍💻', 'שלום 👩‍💻'],
])('%j is shown as %j', (text, expected) => expect(plain(text)).toBe(expected));
