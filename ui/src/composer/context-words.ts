import type { UsageUpdate } from '@agentclientprotocol/sdk';
import { compact } from '../words/amounts';

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

/** `128 of 258K · $0.01` */
export function contextWords(usage: ContextUsage): string {
  const of = usage.size > 0 ? ` of ${compact(usage.size)}` : ' tokens';
  return `${compact(usage.used)}${of}${costWords(usage.cost)}`;
}

function costWords(cost: ContextUsage['cost']): string {
  if (!cost || !(cost.amount > 0)) return '';
  const digits = cost.amount < 0.01 ? 4 : 2;
  const amount = cost.amount.toFixed(digits);
  return cost.currency === 'USD' ? ` · $${amount}` : ` · ${amount} ${cost.currency}`;
}
