import { emptyFold, type Fold } from '../session/fold-state';
import type { Row } from '../timeline/rows';

/** The most that is kept of one session, in characters of JSON; beyond it only the end is kept. */
export const MOST_OF_ONE = 1_000_000;

/** Changed rows are replaced, so each is measured once. */
const sizes = new WeakMap<Row, number>();

function sizeOf(row: Row): number {
  let size = sizes.get(row);
  if (size === undefined) {
    size = JSON.stringify(row).length;
    sizes.set(row, size);
  }
  return size;
}

/** The part of a session to keep: all of it if it is small enough, else its last rows. */
export function keepable(fold: Readonly<Fold>, most = MOST_OF_ONE): { fold: Fold; bytes: number; cut: boolean } {
  let bytes = 0;
  let from = fold.rows.length;
  while (from > 0) {
    const size = sizeOf(fold.rows[from - 1] as Row);
    if (bytes + size > most) break;
    bytes += size;
    from -= 1;
  }
  if (from === 0) return { fold, bytes, cut: false };
  const { plan, title, mode, updates } = fold;
  return { fold: { ...emptyFold(), rows: fold.rows.slice(from), plan, title, mode, updates }, bytes, cut: true };
}
