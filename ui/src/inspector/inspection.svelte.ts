import type { Evidence, Update } from '../connection/wire';
import { findingKey, type Row } from '../timeline/rows';
import type { Target } from './inspected';

interface Inspected {
  readonly id: string;
  row(key: string): Row | undefined;
  update(seq: number): Update | undefined;
  /** The session that has a row, if it may be another one. */
  owner?(key: string): Inspected;
}

/** The updates of a row that can be inspected: a long message has thousands. */
const NEWEST = 200;

type Picked = { sessionId: string; key: string; finding?: number } | Evidence;

/** What is inspected: a row of the open session, a finding of a row, or a piece of evidence. */
export class Inspection {
  readonly #session: () => Inspected | null;
  #picked = $state.raw<Picked | null>(null);

  constructor(session: () => Inspected | null) {
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
