import { openDB, type DBSchema, type IDBPDatabase } from 'idb';
import { emptyFold, type Fold } from '../session/fold';
import type { Row } from '../session/rows';

/** A stored session, as listed. */
export interface KeptItem {
  id: string;
  title: string | null;
  cwd: string;
  mode: string;
  /** When it last changed and when this page last saw it, in milliseconds since the epoch. */
  updatedAt: number;
  seenAt: number;
  bytes: number;
  /** Only its end is stored. */
  cut: boolean;
  /** The build of the page that stored it: another build may fold logs differently. */
  page: string;
}

const PAGE = new URL(import.meta.url).pathname;

interface Schema extends DBSchema {
  items: { key: string; value: KeptItem; indexes: { seenAt: number } };
  folds: { key: string; value: Fold };
}

/** The number of stored sessions and their total size. */
const MOST = 20;
const MOST_BYTES = 5_000_000;

/** The sessions seen last, in the browser's database. Stores nothing where that is disabled. */
export class OfflineStore {
  #opened: Promise<IDBPDatabase<Schema>> | null = null;

  /** Newest first. */
  list(): Promise<KeptItem[]> {
    return this.#use([], async (db) =>
      (await db.getAllFromIndex('items', 'seenAt')).filter(({ page }) => page === PAGE).reverse(),
    );
  }

  read(id: string): Promise<{ item: KeptItem; fold: Fold } | null> {
    return this.#use(null, async (db) => {
      const [item, fold] = await Promise.all([db.get('items', id), db.get('folds', id)]);
      return item?.page !== PAGE || fold === undefined ? null : { item, fold };
    });
  }

  /** Stores a session and evicts those least recently seen. */
  keep(item: Omit<KeptItem, 'page'>, fold: Fold): Promise<void> {
    return this.#use(undefined, async (db) => {
      const transaction = db.transaction(['items', 'folds'], 'readwrite');
      const [items, folds] = [transaction.objectStore('items'), transaction.objectStore('folds')];
      void items.put({ ...item, page: PAGE });
      void folds.put(fold, item.id);
      for (const id of surplus((await items.index('seenAt').getAll()).reverse())) {
        void items.delete(id);
        void folds.delete(id);
      }
      await transaction.done;
    });
  }

  /** Deletes the sessions with these ids; all of them without ids. */
  forget(ids?: readonly string[]): Promise<void> {
    return this.#use(undefined, async (db) => {
      const transaction = db.transaction(['items', 'folds'], 'readwrite');
      for (const store of [transaction.objectStore('items'), transaction.objectStore('folds')]) {
        if (ids === undefined) void store.clear();
        else for (const id of ids) void store.delete(id);
      }
      await transaction.done;
    });
  }

  /** Deletes all but the sessions with these ids. */
  async keepOnly(ids: ReadonlySet<string>): Promise<void> {
    const kept = await this.#use([], (db) => db.getAllKeys('items'));
    const gone = kept.filter((id) => !ids.has(id));
    if (gone.length > 0) await this.forget(gone);
  }

  async #use<T>(otherwise: T, act: (db: IDBPDatabase<Schema>) => Promise<T>): Promise<T> {
    try {
      this.#opened ??= openDB<Schema>('openagents', 1, {
        upgrade(db) {
          db.createObjectStore('items', { keyPath: 'id' }).createIndex('seenAt', 'seenAt');
          db.createObjectStore('folds');
        },
        terminated: () => (this.#opened = null),
      });
      return await act(await this.#opened);
    } catch {
      // The database is full or disabled, as in a private window.
      this.#opened = null;
      return otherwise;
    }
  }
}

/** Ids of the sessions to evict from a list with the newest first. The newest always stays. */
export function surplus(items: readonly Pick<KeptItem, 'id' | 'bytes'>[]): string[] {
  let bytes = 0;
  const from = items.findIndex((item, at) => {
    bytes += item.bytes;
    return at > 0 && (at >= MOST || bytes > MOST_BYTES);
  });
  return from === -1 ? [] : items.slice(from).map(({ id }) => id);
}

/** Most characters of JSON stored per session; only the end of a longer one is stored. */
const MOST_OF_ONE = 1_000_000;

/** Changed rows are replaced, so each size is measured once. */
const sizes = new WeakMap<Row, number>();

function sizeOf(row: Row): number {
  let size = sizes.get(row);
  if (size === undefined) {
    size = JSON.stringify(row).length;
    sizes.set(row, size);
  }
  return size;
}

/** The part of a session to store: all of it, or its last rows if it is too large. */
export function keepable(fold: Readonly<Fold>, most = MOST_OF_ONE): { fold: Fold; bytes: number; cut: boolean } {
  let bytes = 0;
  let from = fold.rows.length;
  while (from > 0) {
    const size = sizeOf(fold.rows[from - 1] as Row);
    if (bytes + size > most) break;
    bytes += size;
    from -= 1;
  }
  // Commands are large, and nothing can be sent while offline.
  if (from === 0) return { fold: { ...fold, commands: null }, bytes, cut: false };
  const { plan, title, mode, usage, updates } = fold;
  const rows = fold.rows.slice(from);
  return { fold: { ...emptyFold(), rows, plan, title, mode, usage, updates }, bytes, cut: true };
}
