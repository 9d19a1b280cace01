import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Markdown } from './markdown.svelte';
import { Rendering } from './rendering.svelte';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A message that grows, and a bridge that can be out of reach. `read` counts the characters that were looked at. */
function message(ask = (text: string): Promise<string> => Promise.resolve(`<p>${text}</p>`)): {
  markdown: Markdown;
  shown: Rendering;
  read: { characters: number };
  say: (chunk: string) => void;
} {
  const markdown = new Markdown(ask);
  const read = { characters: 0 };
  let text = '';
  const shown = new Rendering(
    markdown,
    () => text.length,
    () => {
      read.characters += text.length;
      return text;
    },
    () => vi.getMockedSystemTime()?.getTime() ?? 0,
  );
  const say = (chunk: string): void => {
    text += chunk;
    shown.changed();
  };
  return { markdown, shown, read, say };
}

test('new words follow the rendered text as plain text', async () => {
  const { shown, say } = message();
  say('one ');
  expect([shown.html, shown.tail]).toEqual([null, 'one ']);
  await vi.runAllTimersAsync();
  say('two');
  expect([shown.html, shown.tail]).toEqual(['<p>one </p>', 'two']);
  await vi.runAllTimersAsync();
  expect([shown.html, shown.tail]).toEqual(['<p>one two</p>', '']);
});

/** Regression: a text that could not be rendered stayed plain, because it did not change any more. */
test('a failed rendering is retried on the next connection', async () => {
  let reachable = false;
  const asked: string[] = [];
  const { markdown, shown, say } = message((text) => {
    asked.push(text);
    return reachable ? Promise.resolve(`<p>${text}</p>`) : Promise.reject(new Error('OpenAgents is not connected.'));
  });
  say('one');
  await vi.runAllTimersAsync();
  expect([asked, shown.html]).toEqual([['one'], null]);
  reachable = true;
  markdown.connected();
  shown.changed();
  await vi.runAllTimersAsync();
  expect([asked, shown.html]).toEqual([['one', 'one'], '<p>one</p>']);
});

test('a rendering interrupted by a reconnect is retried', async () => {
  let fail: (error: Error) => void = () => undefined;
  const { markdown, shown, say } = message((text) =>
    markdown.connections === 0 ? new Promise((_, reject) => (fail = reject)) : Promise.resolve(text),
  );
  say('one');
  markdown.connected();
  fail(new Error('OpenAgents is not connected.'));
  await vi.runAllTimersAsync();
  expect(shown.html).toBe('one');
});

/** Regression: every beginning of a message that grew was kept, and pushed out the messages above it. */
test('only the newest rendering of a message is kept', async () => {
  const { markdown, shown, say } = message();
  await markdown.render('another');
  for (const chunk of 'a message that grows word by word'.split(' ')) {
    say(chunk);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  const whole = shown.html?.replace(/<\/?p>/g, '') ?? '';
  expect(whole).toBe('amessagethatgrowswordbyword');
  expect([markdown.known('another'), markdown.known('a'), markdown.known('amessage'), markdown.known(whole)]).toEqual([
    '<p>another</p>',
    undefined,
    undefined,
    shown.html,
  ]);
});

/** Regression: a text of 20,000 chunks was joined, compared and rendered anew with each of them. */
test('the work for a long text grows with its length', async () => {
  const work = async (chunks: number): Promise<number> => {
    let rendered = 0;
    const { shown, read, say } = message((text) => {
      rendered += text.length;
      return Promise.resolve(text);
    });
    for (let n = 0; n < chunks; n += 1) {
      say('one of many words in a long answer of a model. ');
      await vi.advanceTimersByTimeAsync(20);
    }
    await vi.runAllTimersAsync();
    expect(shown.tail).toBe('');
    return read.characters + rendered;
  };
  const [half, whole] = [await work(5_000), await work(10_000)];
  expect(whole / half).toBeLessThan(2.5);
});
