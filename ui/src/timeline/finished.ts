import type { Row } from './rows';

/** The answers that a screen reader announces: each once, when it is whole. */
export class Finished {
  #session: string | null = null;
  #working = false;

  /** Returns the answer if it has just been finished, nothing while another is awaited, and null if nothing changed. */
  take(session: string | null, working: boolean, rows: () => readonly Row[]): string | null {
    const before = this.#session === session && this.#working;
    const changed = this.#session !== session || this.#working !== working;
    this.#session = session;
    this.#working = working;
    if (!changed) return null;
    return before && !working ? answer(rows()) : '';
  }
}

/** The text of the newest message after the last prompt. */
function answer(rows: readonly Row[]): string {
  const last = rows.findLast((row) => row.kind === 'user' || (row.kind === 'message' && !row.late));
  if (last?.kind !== 'message') return '';
  return last.summary?.intent ?? last.text;
}
