import type { Link } from '../connection/link.svelte';
import { METHODS, type Update, openagents } from '../connection/protocol';
import type { Evidence, Finding, ToolMeta, UpdatePage, UpdateParams } from '../connection/wire';
import { findingKey, noteTitle, type Row } from '../session/rows';
import { citation, locationOf } from '../words/places';

/** An update of the inspected row; only its number if the page has dropped it. */
type Inspected = Update | { seq: number; params?: never };

export type Target =
  /** With the newest updates, and the number of those before them. */
  | { kind: 'row'; sessionId: string; key: string; row: Row; updates: readonly Inspected[]; earlier: number }
  | { kind: 'location'; location: Evidence | Finding };

interface Source {
  readonly id: string;
  row(key: string): Row | undefined;
  update(seq: number): Update | undefined;
  /** The session that contains a row, if not this one. */
  owner?(key: string): Source;
}

/** The updates of a row that can be inspected: a long message has thousands. */
const NEWEST = 200;

type Picked = { sessionId: string; key: string; finding?: number } | Evidence;

/** The inspected row, finding or piece of evidence. */
export class Inspection {
  readonly #session: () => Source | null;
  #picked = $state.raw<Picked | null>(null);

  constructor(session: () => Source | null) {
    this.#session = session;
  }

  get target(): Target | null {
    const [picked, session] = [this.#picked, this.#session()];
    if (picked === null) return null;
    if ('kind' in picked) return { kind: 'location', location: picked };
    if (session === null || picked.sessionId !== session.id) return null;
    const row = session.row(picked.key);
    if (row === undefined) return null;
    if (picked.finding !== undefined) {
      const location = row.kind === 'message' ? row.findings?.findings[picked.finding] : undefined;
      return location === undefined ? null : { kind: 'location', location };
    }
    const owner = session.owner?.(picked.key) ?? session;
    const updates = row.seqs.slice(-NEWEST).map((seq) => owner.update(seq) ?? { seq });
    return { kind: 'row', sessionId: owner.id, key: row.key, row, updates, earlier: row.seqs.length - updates.length };
  }

  /** Key of the row, or of the finding, whose JSON is shown. */
  get selected(): string | null {
    const picked = this.#picked;
    if (this.target === null || picked === null || 'kind' in picked) return null;
    return picked.finding === undefined ? picked.key : findingKey(picked.key, picked.finding);
  }

  get open(): boolean {
    return this.#picked !== null;
  }

  /** Inspects a row, or one of its findings; returns whether it was inspected already. */
  pick(key: string, finding?: number): boolean {
    const [picked, session] = [this.#picked, this.#session()];
    if (session === null) return false;
    if (picked !== null && 'key' in picked && picked.key === key && picked.finding === finding) return true;
    this.#picked = { sessionId: session.id, key, ...(finding === undefined ? {} : { finding }) };
    return false;
  }

  cite(evidence: Evidence): void {
    this.#picked = evidence;
  }

  /** Returns the key of the row that was inspected, if one was. */
  close(): string | null {
    const picked = this.#picked;
    this.#picked = null;
    return picked !== null && 'key' in picked ? picked.key : null;
  }
}

export function heading(target: Target): string {
  if (target.kind === 'location')
    return 'excerpt' in target.location ? locationOf(target.location) : citation(target.location);
  switch (target.row.kind) {
    case 'tool':
      return target.row.title ?? target.row.name;
    case 'message':
      return target.row.findings !== undefined ? 'Findings' : target.row.summary === undefined ? 'Message' : 'Summary';
    case 'thought':
      return 'Reasoning';
    case 'user':
      return 'Prompt';
    case 'note':
      return noteTitle(target.row.note);
  }
}

/** The lines of a location, quoted above its JSON. */
export function quote(location: Evidence | Finding): string {
  return 'excerpt' in location ? location.excerpt : location.text;
}

/** The tab label of one update of a row: `call`, `62%`, `completed`; its number if the page has dropped it. */
export function step(update: Inspected): string {
  if (update.params === undefined) return `#${update.seq}`;
  const body = update.params.update;
  if (body.sessionUpdate === 'tool_call') return 'call';
  if (body.sessionUpdate === 'session_info_update') return 'routing';
  if (body.sessionUpdate !== 'tool_call_update') return body.sessionUpdate.replaceAll('_', ' ');
  const { progress, approval } = openagents<ToolMeta>(body._meta);
  if (approval !== undefined) return `approval ${approval.state}`;
  if (body.status === 'in_progress' && progress !== undefined) return `${Math.round(progress * 100)}%`;
  return (body.status ?? 'update').replaceAll('_', ' ');
}

export function notification(params: UpdateParams): object {
  return { jsonrpc: '2.0', method: 'session/update', params };
}

/** A local time of day with milliseconds: `14:02:07.041`. */
export function clockTime(ts: number): string {
  return `${new Date(ts).toLocaleTimeString('en-GB', { hour12: false })}.${String(ts % 1000).padStart(3, '0')}`;
}

/** Reads one update as stored by the bridge, page by page. The received one may have been shortened. */
export async function storedUpdate(link: Link, sessionId: string, seq: number): Promise<unknown> {
  let text = '';
  let offset: number | null | undefined = 0;
  while (offset !== null && offset !== undefined) {
    const page: UpdatePage = await link.request<UpdatePage>(METHODS.update, { sessionId, seq, offset });
    text += page.text;
    offset = page.nextOffset;
  }
  return JSON.parse(text) as unknown;
}
