import { expect, test } from 'vitest';
import { isLongPaste, pastedWords, promptBlocks, withImages, type Attachment } from './attachments';

const image: Attachment = { kind: 'image', name: 'a.png', mimeType: 'image/png', data: 'AAAA' };
const pasted: Attachment = { kind: 'text', text: 'one\ntwo\nthree\n' };

test('words come before what is attached', () => {
  expect(promptBlocks('Like this', [image, pasted])).toEqual([
    { type: 'text', text: 'Like this' },
    { type: 'image', mimeType: 'image/png', data: 'AAAA' },
    { type: 'resource', resource: { uri: 'Pasted text:', mimeType: 'text/plain', text: 'one\ntwo\nthree\n' } },
  ]);
  expect(promptBlocks('', [image]).map(({ type }) => type)).toEqual(['image']);
  expect(promptBlocks('', [])).toEqual([{ type: 'text', text: '' }]);
});

test.each([
  ['short', false],
  ['line\n'.repeat(20), false],
  ['line\n'.repeat(21), true],
])('long pastes are attached', (text, long) => expect(isLongPaste(text)).toBe(long));

test('a pasted text is named by its lines', () => expect(pastedWords(pasted)).toBe('Pasted 3 lines'));

test('what is no image is left out with the reason', async () => {
  const file = new File(['%PDF'], 'plan.pdf', { type: 'application/pdf' });
  expect(await withImages([pasted], [file])).toEqual([
    [pasted],
    "plan.pdf can't be read as a PNG, JPEG, GIF or WebP image.",
  ]);
  const full = Array.from({ length: 10 }, () => image);
  expect(await withImages(full, [file])).toEqual([full, 'A prompt may have 10 images at most.']);
});
