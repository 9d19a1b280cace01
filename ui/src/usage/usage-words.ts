import type { AgentLimit, UsageSum } from '../connection/wire';
import { compact } from '../words/amounts';

/** `$9.40`, `< $0.01`; null without a price. */
export function dollars(cost: string | null): string | null {
  if (cost === null) return null;
  const amount = Number(cost);
  if (amount === 0) return '$0';
  if (amount < 0.005) return '< $0.01';
  return amount.toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

/** `$9.40`, `$9.40 + 1.1M tokens without a price`, `1.1M tokens without a price` */
export function costWords(sum: UsageSum): string {
  const unpriced = sum.unpricedTokens > 0 ? `${compact(sum.unpricedTokens)} tokens without a price` : null;
  return [dollars(sum.cost), unpriced].filter((part) => part !== null).join(' + ');
}

/** The share of the prompts that came from a cache: `84%`; null without prompts. */
export function cachedShare(sum: UsageSum): string | null {
  const prompt = sum.input + sum.cacheRead + sum.cacheWrite + sum.cacheWrite1h;
  return prompt === 0 ? null : `${Math.round((100 * sum.cacheRead) / prompt)}%`;
}

/** `5 h`, `7 days`, `90 min` */
export function windowWords(minutes: number): string {
  if (minutes >= 1440) return `${Math.round(minutes / 1440)} days`;
  return minutes % 60 === 0 || minutes > 240 ? `${Math.round(minutes / 60)} h` : `${minutes} min`;
}

/** `41% of 5 h, resets 14:00`; after that `Reset at 14:00, not seen since`. */
export function limitWords(limit: AgentLimit, now: number): string {
  const at = limit.resetsAt === null ? null : clockTime(limit.resetsAt, now);
  if (limit.resetsAt !== null && limit.resetsAt < now) return `Reset at ${at}, not seen since`;
  const parts: string[] = [];
  if (limit.premiumRequests !== null) parts.push(`${limit.premiumRequests} premium requests used`);
  if (limit.usedPercent !== null && limit.windowMinutes !== null)
    parts.push(`${Math.round(limit.usedPercent)}% of ${windowWords(limit.windowMinutes)}`);
  if (limit.reached) parts.push(limit.said ?? 'Limit reached');
  if (at !== null) parts.push(`resets ${at}`);
  return parts.join(', ');
}

function clockTime(time: number, now: number): string {
  const day = (ms: number) => new Date(ms).toDateString();
  const clock = new Date(time).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  if (day(time) === day(now)) return clock;
  return `${new Date(time).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${clock}`;
}

/** `2 Jun` */
export function dayWords(day: string): string {
  const date = new Date(`${day}T12:00:00`);
  return Number.isNaN(date.getTime()) ? day : date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
}
