import type { Chord } from './chord';

/** Keys that belong to the part of the page that has the focus, for the list of shortcuts. */
export interface FocusKeys {
  title: string;
  keys: readonly Chord[];
}

export const FOCUS_KEYS: readonly { part: string; shortcuts: readonly FocusKeys[] }[] = [
  {
    part: 'Timeline',
    shortcuts: [
      { title: 'Previous or next row', keys: [{ key: 'ArrowUp' }, { key: 'ArrowDown' }] },
      { title: 'Ten rows up or down', keys: [{ key: 'PageUp' }, { key: 'PageDown' }] },
      { title: 'First or last row', keys: [{ key: 'Home' }, { key: 'End' }] },
      { title: 'Show the row in the inspector', keys: [{ key: 'Enter' }] },
      { title: 'Why a finding was found', keys: [{ key: 'W' }] },
      { title: 'Open a finding in the editor', keys: [{ key: 'Enter', mod: true }] },
    ],
  },
  {
    part: 'Prompt',
    shortcuts: [
      { title: 'Send', keys: [{ key: 'Enter' }] },
      { title: 'New line', keys: [{ key: 'Enter', shift: true }] },
      { title: 'Start an exploration', keys: [{ key: 'Enter', mod: true }] },
    ],
  },
  {
    part: 'Search field',
    shortcuts: [
      { title: 'Next match', keys: [{ key: 'Enter' }] },
      { title: 'Previous match', keys: [{ key: 'Enter', shift: true }] },
    ],
  },
];
