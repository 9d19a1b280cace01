import type { UsageRow, UsageSum } from '../connection/wire';
import { compact } from '../words/amounts';
import { dollars, dayWords } from './usage-words';

/** A part of a bar. */
export interface Part {
  agent: string;
  value: number;
}

/** A day, or the days of a week. */
export interface Bar {
  label: string;
  parts: Part[];
  value: number;
  words: string;
}

/** At most as many bars; more days are shown as weeks. */
export const MOST = 92;

/** The largest agents have a colour each; the others share one. */
const NAMED = 4;
export const OTHERS = 'Others';

export interface Chart {
  bars: Bar[];
  /** The agents of the parts, largest first. */
  agents: string[];
  unit: 'cost' | 'tokens';
}

/**
 * Stacks the days of a report by agent: their costs, or their tokens if no price is known. Days without requests are
 * there too, from the first one asked for to today.
 */
export function chart(rows: readonly UsageRow[], since: string | null = null, today = ''): Chart {
  const unit = rows.some((row) => Number(row.cost ?? 0) > 0) ? 'cost' : 'tokens';
  const value = (sum: UsageSum) => (unit === 'cost' ? Number(sum.cost ?? 0) : sum.tokens);
  const sizes = new Map<string, number>();
  for (const row of rows)
    for (const part of row.agents ?? []) sizes.set(part.agent, (sizes.get(part.agent) ?? 0) + value(part));
  const used = [...sizes].filter(([, size]) => size > 0);
  const ranked = used.sort(([, a], [, b]) => b - a).map(([agent]) => agent);
  const named = ranked.length > NAMED + 1 ? ranked.slice(0, NAMED) : ranked;
  const agents = named.length < ranked.length ? [...named, OTHERS] : named;

  const days = new Map(rows.map((row) => [row.name, row]));
  const newest = rows.at(-1)?.name ?? '';
  const groups = weeks(between(since ?? rows[0]?.name, newest > today ? newest : today));
  const bars = groups.map((group): Bar => {
    const own = group.flatMap((day) => days.get(day) ?? []);
    const parts = agents.map((agent) => {
      const fits = (other: string) => other === agent || (agent === OTHERS && !named.includes(other));
      const sums = own.flatMap((row) => row.agents ?? []).filter((part) => fits(part.agent));
      return { agent, value: sums.reduce((sum, part) => sum + value(part), 0) };
    });
    const first = group[0] ?? '';
    const last = group.at(-1) ?? first;
    const label = first === last ? dayWords(first) : `${dayWords(first)} – ${dayWords(last)}`;
    const cost = own.reduce((sum, row) => sum + Number(row.cost ?? 0), 0);
    const all = own.reduce((sum, row) => sum + row.tokens, 0);
    const words = [unit === 'cost' ? dollars(String(cost)) : null, `${compact(all)} tokens`];
    return {
      label,
      parts: parts.filter((part) => part.value > 0),
      value: parts.reduce((sum, part) => sum + part.value, 0),
      words: words.filter((word) => word !== null).join(', '),
    };
  });
  return { bars, agents, unit };
}

/** All days from one to another, or the last of them: a log with a wrong clock may be from any year. */
function between(first: string | undefined, last: string): string[] {
  const days: string[] = [];
  const start = Date.parse(`${first}T00:00:00Z`);
  for (let day = Date.parse(`${last}T00:00:00Z`); day >= start && days.length < 5000; day -= 86_400_000)
    days.push(new Date(day).toISOString().slice(0, 10));
  return days.reverse();
}

function weeks(days: string[]): string[][] {
  if (days.length <= MOST) return days.map((day) => [day]);
  const length = Math.max(7, Math.ceil(days.length / MOST / 7) * 7);
  const count = Math.ceil(days.length / length);
  return Array.from({ length: count }, (_, at) => days.slice(at * length, (at + 1) * length));
}

/** The day of a time here: `2026-06-02`. */
export function dayOf(time: number): string {
  const date = new Date(time);
  const two = (number: number) => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}
