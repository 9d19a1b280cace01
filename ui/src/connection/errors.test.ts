import { expect, test } from 'vitest';
import { asSentence } from './errors.svelte';

test.each([
  ['the file is damaged; download it again', 'The file is damaged; download it again.'],
  ['127.0.0.1 answered 404.', '127.0.0.1 answered 404.'],
])('%s', (error, sentence) => expect(asSentence(error)).toBe(sentence));
