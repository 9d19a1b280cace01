import type { FoundFiles, PastSession } from '../connection/wire';
import type { Row } from './rows';
import type { SessionItem } from './session-list.svelte';

/** What a prompt can name. */
export type Mentionable =
  | { kind: 'file'; path: string }
  /** A definition, or a place in an answer. */
  | { kind: 'place'; name: string; path: string; line: number }
  /** `provider`: another agent's; null for one of ours. */
  | { kind: 'session'; title: string; agent: string; provider: string | null; id: string };

/** The most files that are offered while there are other things too, and the most of those. */
const FEW = 12;

/** Joins what was found for a query: places in the last answer first, then files, definitions and sessions. */
export function mentionable(
  query: string,
  rows: readonly Row[],
  { files, symbols }: FoundFiles,
  own: readonly SessionItem[],
  past: readonly PastSession[],
): Mentionable[] {
  const shown = places(query, rows);
  const isShown = ({ path, line }: { path: string; line: number }): boolean =>
    shown.some((place) => place.path === path && place.line === line);
  const defined = symbols.filter((symbol) => !isShown(symbol)).map((symbol) => ({ kind: 'place', ...symbol }) as const);
  const letters = query.toLowerCase();
  const ours = own
    .filter(({ title }) => query.length > 1 && title.toLowerCase().includes(letters))
    .map(({ id, title }) => ({ kind: 'session', title, agent: 'OpenAgents', provider: null, id }) as const);
  const theirs = past.map(
    ({ id, title, agent, provider }) => ({ kind: 'session', title: title ?? 'Untitled', agent, provider, id }) as const,
  );
  const others = [...defined, ...ours.slice(0, 5), ...theirs];
  const named = files.slice(0, others.length + shown.length > 0 ? FEW : undefined);
  return [...shown, ...named.map((path) => ({ kind: 'file', path }) as const), ...others];
}

/** The places of the newest findings whose name or path has the letters of a query. */
function places(query: string, rows: readonly Row[]): Extract<Mentionable, { kind: 'place' }>[] {
  const answer = rows.findLast((row) => row.kind === 'message' && row.findings !== undefined);
  const found = answer?.kind === 'message' ? (answer.findings?.findings ?? []) : [];
  const letters = query.toLowerCase();
  return found.flatMap((finding) => {
    if (!('path' in finding)) return [];
    const name = finding.symbol ?? finding.path.slice(finding.path.lastIndexOf('/') + 1);
    const matches = `${name} ${finding.path}`.toLowerCase().includes(letters);
    return matches ? [{ kind: 'place' as const, name, path: finding.path, line: finding.start }] : [];
  });
}
