import type { Row } from './rows';

/** Rows of turns that the user took back are folded, each run of them to its first row, unless that is in `open`. */
export function foldTakenBack(rows: readonly Row[], open: ReadonlySet<string>): Row[] {
  const folded: Row[] = [];
  for (let at = 0; at < rows.length; at += 1) {
    const row = rows[at];
    if (row === undefined) break;
    if (row.takenBack === undefined) {
      folded.push(row);
      continue;
    }
    const next = rows.findIndex((later, place) => place > at && later.takenBack === undefined);
    const run = rows.slice(at, next === -1 ? rows.length : next);
    folded.push({ ...row, takenBack: run.length }, ...(open.has(row.key) ? run.slice(1) : []));
    at += run.length - 1;
  }
  return folded;
}

/** The first row of the run that hides a row; null if nothing hides it. */
export function hiddenBehind(rows: readonly Row[], key: string): string | null {
  const at = rows.findIndex((row) => row.key === key);
  if (rows[at]?.takenBack === undefined) return null;
  const before = rows.findLastIndex((row, place) => place < at && row.takenBack === undefined);
  return rows[before + 1]?.key ?? null;
}
