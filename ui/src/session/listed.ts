import type { PastSession } from '../connection/history-wire';
import type { SessionItem } from './session-list.svelte';

/** A row of the sidebar: one of our sessions, or one of another agent. */
export type Entry = { key: string; updatedAt: number } & ({ ours: SessionItem; past?: undefined } | { past: PastSession; ours?: undefined });

/** What was read of a list, newest first. */
export interface Loaded<T> {
  items: readonly T[];
  /** There are older ones. */
  more: boolean;
}

/** Stands for the sessions of every agent. */
export const AGENTS = 'all';

/** The sessions of both lists, down to where either still has more to read. */
export function listed(ours: Loaded<SessionItem>, past: Loaded<PastSession>): Entry[] {
  const from = Math.max(oldest(ours), oldest(past));
  return [
    ...ours.items.map((item): Entry => ({ key: item.id, updatedAt: item.updatedAt, ours: item })),
    ...past.items.map((item): Entry => ({ key: `${item.provider} ${item.id}`, updatedAt: item.updatedAt, past: item })),
  ].filter(({ updatedAt }) => updatedAt >= from);
}

/** The entries of one agent: its provider's name, the empty text for our own, or all. */
export function chosen(entries: readonly Entry[], agent: string): Entry[] {
  return entries.filter(({ past }) => agent === AGENTS || (past?.provider ?? '') === agent);
}

function oldest({ items, more }: Loaded<{ updatedAt: number }>): number {
  return more ? items.reduce((least, { updatedAt }) => Math.min(least, updatedAt), Infinity) : -Infinity;
}
