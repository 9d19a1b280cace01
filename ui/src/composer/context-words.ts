import type { UsageUpdate } from '@agentclientprotocol/sdk';

/** How much of the model's context is in use. */
export type ContextUsage = Pick<UsageUpdate, 'used' | 'size' | 'cost'>;

/** The share of the context from which it is nearly full. */
const NEARLY_FULL = 0.8;

/** The share in use, from 0 to 1; null if the agent does not know how much fits. */
export function share({ used, size }: ContextUsage): number | null {
  return size > 0 ? Math.min(1, used / size) : null;
}

export function isNearlyFull(usage: ContextUsage): boolean {
  return (share(usage) ?? 0) >= NEARLY_FULL;
}

/** `128 of 258k · $0.01` */
export function contextWords(usage: ContextUsage): string {
  const of = usage.size > 0 ? ` of ${tokens(usage.size)}` : ' tokens';
  return `${tokens(usage.used)}${of}${costWords(usage.cost)}`;
}

/** `128`, `4.2k`, `258k`, `1.1M` */
function tokens(n: number): string {
  if (n < 1000) return String(n);
  if (n < 9950) return `${(n / 1000).toFixed(1)}k`;
  if (n < 999_500) return `${Math.round(n / 1000)}k`;
  return `${(n / 1_000_000).toFixed(1)}M`;
}

function costWords(cost: ContextUsage['cost']): string {
  if (!cost || !(cost.amount > 0)) return '';
  const digits = cost.amount < 0.01 ? 4 : 2;
  const amount = cost.amount.toFixed(digits);
  return cost.currency === 'USD' ? ` · $${amount}` : ` · ${amount} ${cost.currency}`;
}
