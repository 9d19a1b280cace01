import type { Link } from '../connection/link.svelte';
import type { Session } from '../session/session.svelte';
import type { SessionItem } from '../session/session-list.svelte';
import type { Sessions } from '../session/sessions.svelte';
import { keepable, OfflineStore, type KeptItem } from './offline-store';

/**
 * Milliseconds: the least time between two writes of a session, at rest and while it runs, and the time after which a
 * connection attempt counts as offline.
 */
const PAUSE = 2_000;
const PAUSE_RUNNING = 10_000;
const PATIENCE = 1_500;

/** Stores the sessions that were opened and shows them while offline. */
export class Offline {
  readonly #link: Link;
  readonly #sessions: Sessions;
  readonly #store = new OfflineStore();
  #due: { session: Session; running: boolean; timer: ReturnType<typeof setTimeout> } | null = null;

  constructor(link: Link, sessions: Sessions) {
    this.#link = link;
    this.#sessions = sessions;
    sessions.keeper = this;
  }

  /** Starts following the page. Call it during component setup. */
  follow(): void {
    $effect(() => this.#keepOpen());
    $effect(() => this.#showKept());
    $effect(() => {
      const { state } = this.#link;
      // Once this device loses access, its stored sessions go as well.
      if (state.name === 'removed' || (state.name === 'refused' && state.why !== 'no-token' && state.unproven !== true))
        void this.forget();
    });
    $effect(() => {
      const write = (): void => {
        if (document.visibilityState === 'hidden') void this.#write();
      };
      document.addEventListener('visibilitychange', write);
      return () => document.removeEventListener('visibilitychange', write);
    });
  }

  /** Deletes the stored sessions with these ids; all of them without ids. */
  async forget(ids?: readonly string[]): Promise<void> {
    if (this.#due !== null && (ids === undefined || ids.includes(this.#due.session.id))) {
      clearTimeout(this.#due.timer);
      this.#due = null;
    }
    await this.#store.forget(ids);
  }

  /** Deletes all others, which were removed while this page was away. */
  keepOnly(ids: ReadonlySet<string>): Promise<void> {
    return this.#store.keepOnly(ids);
  }

  #keepOpen(): void {
    const session = this.#sessions.open;
    if (session === null || this.#link.state.name !== 'live' || !session.caughtUp || session.seenAt !== null) return;
    // Read to rerun this effect on every change.
    if (session.updates === 0 && session.rows.length === 0) return;
    const running = session.working;
    if (this.#due?.session === session) {
      if (running || !this.#due.running) return;
      // The result of a turn is written sooner than its progress.
      clearTimeout(this.#due.timer);
    } else {
      void this.#write();
    }
    this.#due = { session, running, timer: setTimeout(() => void this.#write(), running ? PAUSE_RUNNING : PAUSE) };
  }

  async #write(): Promise<void> {
    const due = this.#due;
    if (due === null) return;
    clearTimeout(due.timer);
    this.#due = null;
    const { id, title, cwd, mode, touchedAt, folded } = due.session;
    const { fold, bytes, cut } = keepable(folded);
    await this.#store.keep({ id, title, cwd, mode, updatedAt: touchedAt, seenAt: Date.now(), bytes, cut }, fold);
  }

  /** A pending connection may succeed shortly, with newer data. */
  #showKept(): (() => void) | undefined {
    const { name } = this.#link.state;
    if (name !== 'offline' && name !== 'connecting') return undefined;
    const session = this.#sessions.open;
    const timer = setTimeout(() => void this.#restore(session), name === 'offline' ? 0 : PATIENCE);
    return () => clearTimeout(timer);
  }

  async #restore(session: Session | null): Promise<void> {
    if (!this.#sessions.list.complete) {
      const kept = await this.#store.list();
      if (!this.#sessions.list.complete) this.#sessions.list.items = kept.map(listed);
    }
    if (session === null || session.updates > 0) return;
    const kept = await this.#store.read(session.id);
    // The connection may be back by now.
    if (kept === null || session.updates > 0 || this.#link.state.name === 'live') return;
    session.title = kept.item.title;
    session.cwd = kept.item.cwd;
    session.mode = kept.item.mode;
    session.restore(kept.fold, kept.item.seenAt, kept.item.cut);
  }
}

function listed({ id, title, cwd, updatedAt }: KeptItem): SessionItem {
  return { id, title: title ?? 'Exploration', cwd, updatedAt, running: false, waiting: 0 };
}
