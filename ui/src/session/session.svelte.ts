import type { AttachResult, Update } from '../connection/wire';
import type { PlanView } from '../plan/plan';
import type { Row } from '../timeline/rows';
import { apply, emptyFold, type Fold } from './fold';

/** One session as this page knows it: its log and what the log folds to. */
export class Session {
  readonly id: string;
  cwd = $state('');
  title = $state<string | null>(null);
  rows = $state.raw<readonly Row[]>([]);
  plan = $state.raw<PlanView | null>(null);
  updates = $state(0);
  working = $state(false);
  /** False while older entries of the log are still on their way. */
  caughtUp = $state(true);
  /** A prompt that is sent and not in the log yet. */
  pending = $state<string | null>(null);
  /** Set from the moment a person asks for something until the first update about it. */
  waitingSince = $state<number | null>(null);
  /** This page's clock when the newest update came, to let a running time tick on. */
  touchedAt = $state(Date.now());
  problem = $state<string | null>(null);
  /** The last connection that this session has been attached on. */
  attachedOn = -1;

  #fold: Fold = emptyFold();
  #log = new Map<number, Update>();
  #target = 0;

  constructor(id: string) {
    this.id = id;
  }

  get seq(): number {
    return this.#fold.seq;
  }

  update(seq: number): Update | undefined {
    return this.#log.get(seq);
  }

  row(key: string): Row | undefined {
    return this.rows.find((row) => row.key === key);
  }

  /** Folds in what came. Returns false when an entry is missing, so that the log has to be asked for again. */
  take(batch: readonly Update[]): boolean {
    let whole = true;
    for (const update of batch) {
      const applied = apply(this.#fold, update);
      if (applied === 'gap') whole = false;
      if (applied !== 'taken') continue;
      this.#log.set(update.seq, update);
      const kind = update.params.update.sessionUpdate;
      if (kind === 'user_message_chunk') this.pending = null;
      else if (kind !== 'session_info_update') this.waitingSince = null;
    }
    this.#publish();
    return whole;
  }

  /** The bridge's answer to `attach`: how far the log goes and whether a turn runs. */
  attached(answer: AttachResult): void {
    this.#target = answer.seq;
    if (answer.seq < this.#fold.seq) {
      // The log is shorter than what this page has seen: another data folder. Begin again.
      this.#fold = emptyFold();
      this.#log.clear();
    }
    if (!answer.running && this.#fold.seq >= answer.seq) this.#fold.working = false;
    this.#publish();
    this.#running = answer.running;
  }

  /** The turn that this page asked for has ended. */
  ended(): void {
    this.#fold.working = false;
    this.waitingSince = null;
    this.pending = null;
    this.#publish();
  }

  #running = true;

  #publish(): void {
    const fold = this.#fold;
    this.caughtUp = fold.seq >= this.#target;
    // A log that ends in the middle of a turn (the bridge was killed) must not look as if it still worked.
    if (!this.#running && fold.seq === this.#target) fold.working = false;
    this.rows = fold.rows.slice();
    this.plan = fold.plan;
    this.title = fold.title ?? this.title;
    this.updates = fold.updates;
    this.working = fold.working;
    this.touchedAt = Date.now();
  }
}
