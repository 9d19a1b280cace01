import { expect, test } from 'vitest';
import { parseGoals } from './draft.svelte';

test.each([
  ['', []],
  ['one', ['one']],
  ['one\n\n  two  \r\n- three\n* four\n-five', ['one', 'two', 'three', 'four', '-five']],
])('goals of %j', (text, expected) => expect(parseGoals(text)).toEqual(expected));
