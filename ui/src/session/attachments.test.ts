import { expect, test } from 'vitest';
import { Attachments, isLongPaste, textWords, promptBlocks, type Attachment } from './attachments.svelte';

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

test('a pasted text is named by its lines, a session by its title', async () => {
  expect(textWords(pasted)).toBe('Pasted 3 lines');
  const all = new Attachments();
  await all.addText('Fix it', Promise.resolve('User: Fix it'));
  await all.addText('Empty', Promise.resolve(''));
  await all.addText('Gone', Promise.reject(new Error('gone')));
  expect(all.problem).toContain('Gone');
  all.edit(0, 'User: Fix');
  const [session] = all.all as [typeof pasted];
  expect(textWords(session)).toBe('Session: Fix it');
  expect(promptBlocks('Like this', all.all)[1]).toMatchObject({
    resource: { uri: 'Session "Fix it":', text: 'User: Fix' },
  });
});

test('what is no image is left out with the reason', async () => {
  const attachments = new Attachments();
  attachments.all = [pasted];
  const file = new File(['%PDF'], 'plan.pdf', { type: 'application/pdf' });
  await attachments.add([file]);
  expect([attachments.all, attachments.problem]).toEqual([
    [pasted],
    "plan.pdf can't be read as a PNG, JPEG, GIF or WebP image.",
  ]);
  attachments.edit(0, 'less');
  expect(attachments.hand()).toEqual([{ kind: 'text', text: 'less' }]);
  expect([attachments.all, attachments.problem, attachments.reading]).toEqual([[], null, 0]);
});

function dropped(type: string, files: File[], text: string): [Event, DataTransfer, () => boolean] {
  const event = new Event(type, { cancelable: true });
  const data = { files, getData: () => text } as unknown as DataTransfer;
  return [event, data, () => event.defaultPrevented];
}

test('what is pasted is attached unless it belongs in the field', () => {
  const png = new File([''], 'a.png', { type: 'image/png' });
  const long = 'line\n'.repeat(30);
  const rows: [string, File[], string, boolean][] = [
    ['paste', [], 'short', false],
    ['paste', [png], 'text with a picture of it', false],
    ['paste', [], long, true],
    ['paste', [png], '', true],
    ['drop', [png], '', true],
    ['drop', [], long, false],
  ];
  for (const [type, files, text, taken] of rows) {
    const [event, data, prevented] = dropped(type, files, text);
    new Attachments().take(event, data);
    expect(prevented(), `${type} ${text.slice(0, 10)}`).toBe(taken);
  }
});
