import { expect, test } from 'vitest';
import { chordText, type Chord } from './chord';

test.each<[Chord, string, string]>([
  [{ code: 'KeyF', mod: true }, '⌘F', 'Ctrl+F'],
  [{ code: 'KeyD', mod: true, alt: true }, '⌘⌥D', 'Ctrl+Alt+D'],
  [{ code: 'KeyG', mod: true, shift: true }, '⌘⇧G', 'Ctrl+Shift+G'],
  [{ key: 'Enter', mod: true }, '⌘↩', 'Ctrl+Enter'],
  [{ key: 'Escape' }, 'Esc', 'Esc'],
  [{ key: '/' }, '/', '/'],
])('%j', (chord, mac, others) => expect([chordText(chord, true), chordText(chord, false)]).toEqual([mac, others]));
