import type { Link } from '../connection/link.svelte';
import type { Session } from '../session/session.svelte';
import type { Sessions } from '../session/sessions.svelte';
import { keepable } from './cut';
import { Shelf, type KeptItem } from './shelf';

/**
 * A session is written no more often than this, at rest and while it runs; a link that is looked for longer than this
 * counts as none. In milliseconds.
 */
const PAUSE = 2_000;
const PAUSE_RUNNING = 10_000;
const PATIENCE = 1_500;

/** Keeps the sessions that a person has looked at, and shows them while there is no link. */
export class Offline {
  readonly #link: Link;
  readonly #sessions: Sessions;
  readonly #shelf = new Shelf();
  #due: { session: Session; running: boolean; timer: ReturnType<typeof setTimeout> } | null = null;

  constructor(link: Link, sessions: Sessions) {
    this.#link = link;
    this.#sessions = sessions;
  }

  /** Follows the page from now on. Called while a component is set up. */
  follow(): void {
    $effect(() => this.#keepOpen());
    $effect(() => this.#showKept());
    $effect(() => {
      const { state } = this.#link;
      // What this device may not see any more is not for whoever holds it now either.
      if (state.name === 'removed' || (state.name === 'refused' && state.why !== 'no-token')) void this.forget();
    });
    $effect(() => {
      const write = (): void => {
        if (document.visibilityState === 'hidden') void this.#write();
      };
      document.addEventListener('visibilitychange', write);
      return () => document.removeEventListener('visibilitychange', write);
    });
  }

  /** Forgets the sessions with these ids; all of them when none are named. */
  async forget(ids?: readonly string[]): Promise<void> {
    if (this.#due !== null && (ids === undefined || ids.includes(this.#due.session.id))) {
      clearTimeout(this.#due.timer);
      this.#due = null;
    }
    await this.#shelf.forget(ids);
  }

  /** Forgets what is not among these: it was deleted while this page was away. */
  keepOnly(ids: ReadonlySet<string>): Promise<void> {
    return this.#shelf.keepOnly(ids);
  }

  #keepOpen(): void {
    const session = this.#sessions.open;
    if (session === null || this.#link.state.name !== 'live' || !session.caughtUp || session.seenAt !== null) return;
    // Read so that this runs again with every change.
    if (session.updates === 0 && session.rows.length === 0) return;
    const running = session.working;
    if (this.#due?.session === session) {
      if (running || !this.#due.running) return;
      // What the turn came to is not put off as long as what it is at.
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
    await this.#shelf.keep({ id, title, cwd, mode, updatedAt: touchedAt, seenAt: Date.now(), bytes, cut }, fold);
  }

  /** A link that is looked for may be found at once: what it brings is newer. */
  #showKept(): (() => void) | undefined {
    const { name } = this.#link.state;
    if (name !== 'offline' && name !== 'connecting') return undefined;
    const session = this.#sessions.open;
    const timer = setTimeout(() => void this.#restore(session), name === 'offline' ? 0 : PATIENCE);
    return () => clearTimeout(timer);
  }

  async #restore(session: Session | null): Promise<void> {
    if (!this.#sessions.listed) {
      const kept = await this.#shelf.list();
      if (!this.#sessions.listed) this.#sessions.items = kept.map(listed);
    }
    if (session === null || session.updates > 0) return;
    const kept = await this.#shelf.read(session.id);
    // The link may have come back meanwhile.
    if (kept === null || session.updates > 0 || this.#link.state.name === 'live') return;
    session.title = kept.item.title;
    session.cwd = kept.item.cwd;
    session.mode = kept.item.mode;
    session.restore(kept.fold, kept.item.seenAt, kept.item.cut);
  }
}

function listed({ id, title, cwd, updatedAt }: KeptItem): Sessions['items'][number] {
  return { id, title: title ?? 'Exploration', cwd, updatedAt, running: false, waiting: 0 };
}
