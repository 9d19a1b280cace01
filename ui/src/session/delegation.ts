import type { DelegateReport } from '../connection/protocol';
import type { Piece, Row, ToolRow } from './rows';

/** The call of a sub-agent, which its agent started and which has no session here. */
const SUBAGENT = 'subagent.run';

/** The tools that start another agent. */
const DELEGATES = new Set(['delegate.run', 'codex.run', SUBAGENT]);

/** Whether a row is shown as delegated work. */
export function isDelegation(row: ToolRow): boolean {
  return row.delegate !== undefined || DELEGATES.has(row.name);
}

export interface Delegation {
  /** Id of the agent; `auto` until OpenAgents has chosen. */
  provider: string;
  subagent: { role: string; canStop: boolean } | null;
  state: 'starting' | 'working' | 'background' | 'waiting' | 'done' | 'dry-run' | 'failed' | 'cancelled' | 'unfinished';
  description: string | null;
  prompt: string;
  limits: string[];
  /** The result: a summary or an error. */
  notes: string | null;
}

export function delegation(row: ToolRow): Delegation {
  const { args } = row;
  const report = reportOf(row.output);
  const textOf = (name: string): string => (typeof args[name] === 'string' ? args[name] : '');
  const provider =
    report?.provider || row.delegate?.mode || textOf('provider') || (row.name === 'codex.run' ? 'codex' : 'auto');
  const globs = Array.isArray(args['files_include_glob'])
    ? args['files_include_glob'].filter((glob) => typeof glob === 'string')
    : [];
  const files = args['max_files'];
  const budget = args['time_budget_ms'];
  return {
    provider,
    subagent: row.name === SUBAGENT ? { role: textOf('role'), canStop: args['can_stop'] === true } : null,
    state: stateOf(row, report),
    description: textOf('description') || null,
    prompt: textOf('user_prompt'),
    limits: [
      globs.length > 0 ? `Only ${globs.join(', ')}` : '',
      typeof files === 'number' ? `${files} files at most` : '',
      typeof budget === 'number' ? `${budgetWords(budget)} of time` : '',
    ].filter((limit) => limit !== ''),
    // The bridge's failure texts begin with this sign; the card has an icon.
    notes: (row.state === 'failed' ? row.error : report?.notes)?.replace(/^(?:❌ )+/u, '') || null,
  };
}

function stateOf(row: ToolRow, report: Report | null): Delegation['state'] {
  switch (row.state) {
    case 'pending':
    case 'running':
      if (asks(row)) return 'waiting';
      return row.delegate === undefined ? 'starting' : 'working';
    case 'done':
      if (report?.background === true) return 'background';
      if (report?.ok === false) return /^cancelled\b/i.test(report.notes) ? 'cancelled' : 'failed';
      return report?.dispatched === false ? 'dry-run' : 'done';
    case 'failed':
      return /^cancelled\b/i.test(row.error ?? '') ? 'cancelled' : 'failed';
    case 'unfinished':
      return 'unfinished';
  }
}

/** Whether an approval is pending in a row or in its delegate. */
function asks(row: ToolRow): boolean {
  return (
    row.approvals.some(({ state }) => state === 'pending') ||
    (row.delegate?.rows.some((inner) => inner.kind === 'tool' && asks(inner)) ?? false)
  );
}

export type Change = Extract<Piece, { type: 'diff' }> & { line?: number | undefined };

/** The changes by file, with consecutive ones merged. */
export function changes(rows: readonly Row[]): Change[] {
  const found: Change[] = [];
  for (const row of rows) {
    if (row.kind !== 'tool' || row.state === 'failed') continue;
    for (const piece of row.content) {
      if (piece.type !== 'diff') continue;
      const line = row.locations.find(({ path }) => path === piece.path)?.line;
      const at = found.findLastIndex(({ path }) => path === piece.path);
      const last = found[at];
      if (last !== undefined && last.after === piece.before)
        found[at] = { ...last, after: piece.after, truncated: last.truncated || piece.truncated };
      else if (last?.before !== piece.before || last?.after !== piece.after) found.push({ ...piece, line });
    }
  }
  return found.filter(({ before, after }) => before !== after);
}

/** Every changed file, in the order of the first change. */
export function filesTouched(rows: readonly Row[]): string[] {
  const found = new Set<string>();
  for (const row of rows) {
    if (row.kind !== 'tool' || row.state === 'failed') continue;
    for (const piece of row.content) if (piece.type === 'diff') found.add(piece.path);
    if (row.work === 'edit' || row.work === 'delete' || row.work === 'move')
      row.locations.forEach(({ path }) => found.add(path));
  }
  return [...found];
}

/** The report of a delegate; `background`: a sub-agent works on after the turn. */
type Report = DelegateReport & { background?: boolean };

function reportOf(output: unknown): Report | null {
  if (typeof output !== 'object' || output === null) return null;
  const { ok, provider, notes, dispatched, background = false } = output as Partial<Report>;
  if (typeof ok !== 'boolean') return null;
  return { ok, provider: provider ?? '', notes: notes ?? '', dispatched: dispatched ?? true, background };
}

function budgetWords(ms: number): string {
  return ms < 90_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}
