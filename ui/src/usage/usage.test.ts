import { describe, expect, test } from 'vitest';
import type { AgentLimit, UsageRow, UsageSum } from '../connection/wire';
import { chart, MOST, OTHERS } from './bars';
import { cachedShare, costWords, dollars, limitWords } from './usage-words';

const SUM: UsageSum = {
  requests: 1,
  tokens: 100,
  input: 10,
  cacheRead: 60,
  cacheWrite: 20,
  cacheWrite1h: 0,
  output: 10,
  reasoning: 0,
  atLeast: 0,
  unpricedTokens: 0,
  cost: '0.5',
  reportedCost: null,
};

function day(name: string, costs: Record<string, string | null>): UsageRow {
  const agents = Object.entries(costs).map(([agent, cost]) => ({ ...SUM, provider: agent, agent, cost }));
  const sum = Object.values(costs).reduce((all, cost) => all + Number(cost ?? 0), 0);
  return { ...SUM, name, cost: String(sum), tokens: 100 * agents.length, agents };
}

describe('words', () => {
  test.each([
    [null, null],
    ['0', '$0'],
    ['0.004', '< $0.01'],
    ['9.4044', '$9.40'],
    ['1234.5', '$1,234.50'],
  ])('a cost of %s is %s', (cost, expected) => expect(dollars(cost)).toBe(expected));

  test('a sum names what has no price', () => {
    expect(costWords({ ...SUM, unpricedTokens: 1_100_000 })).toBe('$0.50 + 1.1M tokens without a price');
    expect(costWords({ ...SUM, cost: null, unpricedTokens: 100 })).toBe('100 tokens without a price');
    expect(cachedShare(SUM)).toBe('67%');
  });

  test('a limit says how much is used, or that it was reset since', () => {
    const now = Date.parse('2026-06-02T10:00:00');
    const limit: AgentLimit = {
      provider: 'codex',
      agent: 'Codex',
      name: 'codex 300m',
      seenAt: now,
      usedPercent: 41.4,
      windowMinutes: 300,
      resetsAt: now + 4 * 3_600_000,
      plan: 'plus',
      reached: false,
      said: null,
      premiumRequests: null,
    };
    expect(limitWords(limit, now)).toBe('41% of 5 h, resets 14:00');
    expect(limitWords({ ...limit, resetsAt: now - 3_600_000 }, now)).toBe('Reset at 09:00, not seen since');
    expect(limitWords({ ...limit, windowMinutes: 10_080, resetsAt: null }, now)).toBe('41% of 7 days');
    const reached = { ...limit, usedPercent: null, reached: true, resetsAt: null };
    expect(limitWords({ ...reached, said: 'You are out of credits' }, now)).toBe('You are out of credits');
    expect(limitWords({ ...reached, reached: false, premiumRequests: '3' }, now)).toBe('3 premium requests used');
  });
});

describe('chart', () => {
  test('stacks days by agent, with the days between', () => {
    const { bars, agents, unit } = chart([
      day('2026-06-01', { Codex: '1', Pi: '3' }),
      day('2026-06-03', { Codex: '5' }),
    ]);
    expect([agents, unit]).toEqual([['Codex', 'Pi'], 'cost']);
    expect(bars.map((bar) => bar.value)).toEqual([4, 0, 5]);
    expect(bars[0]?.words).toBe('$4.00, 200 tokens');
    expect(bars[1]?.parts).toEqual([]);
  });

  test('reaches from the first day that was asked for to today', () => {
    const { bars } = chart([day('2026-06-02', { Codex: '1' })], '2026-06-01', '2026-06-04');
    expect(bars.map((bar) => bar.value)).toEqual([0, 1, 0, 0]);
  });

  test('joins small agents, and days to weeks', () => {
    const many = Object.fromEntries(['A', 'B', 'C', 'D', 'E', 'F'].map((agent, at) => [agent, String(10 - at)]));
    const { agents, bars } = chart([day('2025-01-01', many), day('2026-01-01', many)]);
    expect(agents).toEqual(['A', 'B', 'C', 'D', OTHERS]);
    expect(bars.length).toBeLessThanOrEqual(MOST);
    expect(bars[0]?.label).toContain('–');
    expect(bars[0]?.parts.at(-1)).toEqual({ agent: OTHERS, value: 11 });
  });

  test('ends today, however old the first day is', () => {
    const { bars } = chart([day('1970-01-01', { Codex: '1' }), day('2026-06-02', { Codex: '2' })]);
    expect(bars.at(-1)?.label).toContain('2 Jun');
    expect(chart([day('2026-06-01', { Codex: '1', Pi: null })]).agents).toEqual(['Codex']);
  });

  test('shows tokens if no price is known, and nothing for no days', () => {
    expect(chart([day('2026-06-01', { Codex: null })]).unit).toBe('tokens');
    expect(chart([])).toEqual({ bars: [], agents: [], unit: 'tokens' });
  });
});
