import { expect, test } from 'vitest';
import type { Activity } from '../connection/wire';
import { activityWords, percent, timeLeft, unavailable, usageWords } from './model-words';

test.each<[Activity, string]>([
  [{ state: 'waiting' }, 'Waiting for another answer…'],
  [{ state: 'silent', seconds: 40 }, 'No sign of the agent for 40 s'],
  [{ state: 'loading', progress: 0.439 }, 'Loading GPTOSS 20B… 43%'],
  [{ state: 'reading_prompt', progress: 0.6 }, 'Reading prompt… 60%'],
  [{ state: 'generating', tokens: 1, tokensPerSecond: 3.14 }, '1 token · 3.1 tokens/s'],
  [{ state: 'generating', tokens: 1312, tokensPerSecond: 24.2 }, '1,312 tokens · 24 tokens/s'],
])('%j', (activity, words) => expect(activityWords(activity, 'GPTOSS 20B')).toBe(words));

test('an answer of one token has no rate', () => {
  const usage = { promptTokens: 9, cachedTokens: 0, tokens: 1, tokensPerSecond: 0, firstTokenMs: 1640, memoryBytes: 1 };
  expect(usageWords(usage)).toBe('1 token · first token 1.6 s');
  expect(usageWords({ ...usage, tokens: 12, tokensPerSecond: 24, firstTokenMs: 64 })).toBe(
    '12 tokens · 24 tokens/s · first token 64 ms',
  );
});

test.each([
  [0, 0, 0, ''],
  [5, 10, 0, ''],
  [0, 100, 10, '10 s left'],
  [0, 12e9, 40e6, '5 min left'],
  [0, 12e9, 1e6, '3 h left'],
])('%d of %d at %d', (done, total, speed, words) => expect(timeLeft(done, total, speed)).toBe(words));

test('progress is never 100% before its end', () => {
  expect([percent(0.9999), percent(1), percent(2), percent(-1)]).toEqual(['99%', '100%', '100%', '0%']);
});

test('a model that only needs loading can be asked', () => {
  expect([unavailable({ state: 'not_loaded' }), unavailable({ state: 'not_downloaded' })]).toEqual([
    null,
    'not downloaded',
  ]);
});
