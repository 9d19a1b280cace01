import type { Approval } from '../connection/agents-wire';
import type { QueuedPrompt } from '../connection/devices-wire';
import { openagents, type Activity, type AttachResult, type PromptMeta, type Update } from '../connection/wire';
import { EXPLORER_MODE } from '../agents/modes';
import type { PlanView } from '../plan/plan';
import { findRow, type Row } from '../timeline/rows';
import { apply, emptyFold, publish, settle, type Asked, type Fold } from './fold';
import { beginSnapshot, endSnapshot, takeFolded, type Snapshot } from './snapshot';

/** A prompt that this page has sent and that its bridge has not answered. */
export interface Sent {
  text: string;
  /** Known again by it in the log, whoever else sends the same words. */
  promptId: string;
  /** It stands in the session's log. */
  logged: boolean;
  /** The link broke before the answer came: only the log knows what became of it. */
  adrift: boolean;
}

/** One session as this page knows it: its log, what the log folds to, and what a person writes to it. */
export class Session {
  readonly id: string;
  cwd = $state('');
  title = $state<string | null>(null);
  rows = $state.raw<readonly Row[]>([]);
  plan = $state.raw<PlanView | null>(null);
  /** What agents wait for, oldest first. */
  waiting = $state.raw<readonly Asked[]>([]);
  updates = $state(0);
  working = $state(false);
  /** Which agent answers prompts here. */
  mode = $state<string>(EXPLORER_MODE);
  /** What the model that answers is doing; null when none does. */
  activity = $state.raw<Activity | null>(null);
  /** False while older entries of the log are still on their way. */
  caughtUp = $state(true);
  /** How many entries of the log are still on their way. */
  catchingUp = $state(0);
  /** Prompts of all clients that wait for the end of the running turn, oldest first. */
  queue = $state.raw<readonly QueuedPrompt[]>([]);
  /** The prompts that are sent and not in the log yet, oldest first. */
  pending = $state.raw<readonly string[]>([]);
  /** Set from the moment a person asks for something until the first update about it. */
  waitingSince = $state<number | null>(null);
  /** This page's clock when the newest update came, to let a running time tick on. */
  touchedAt = $state(Date.now());
  problem = $state<string | null>(null);
  /** What stands in the composer. */
  draft = $state('');
  /** When this page saw it last, where it shows what it kept of it; null once the bridge has spoken of it. */
  seenAt = $state<number | null>(null);
  /** The last connection that this session has been attached on. */
  attachedOn = -1;
  /** The answer to an attach is on its way. */
  attachingNow = false;

  #fold: Fold = emptyFold();
  /** What is shown is only the end of it: the log has to be read from its beginning. */
  #cut = false;
  #log = new Map<number, Update>();
  /** The folded state that is on its way and takes the place of what is shown; null when none is. */
  #snapshot: Snapshot | null = null;
  /** Since the last attach was asked for, a folded state has begun. */
  #renewed = false;
  #sent: Sent[] = [];
  /** What the bridge said at the last attach; null when that is out of date. */
  #known: AttachResult | null = null;
  /** What was put back into the composer because it did not arrive. */
  #returned: { text: string; promptIds: string[] } | null = null;

  constructor(id: string) {
    this.id = id;
  }

  get seq(): number {
    return this.#fold.seq;
  }

  /** Nothing of it would be lost if this page forgot it. */
  get idle(): boolean {
    return !this.working && this.#sent.length === 0 && this.draft === '';
  }

  /** All that the log folds to, to be kept while there is no link. Not to be changed. */
  get folded(): Readonly<Fold> {
    return this.#fold;
  }

  /** Shows what was seen of it before; `cut` where that is only the end. */
  restore(fold: Fold, seenAt: number, cut: boolean): void {
    this.#fold = fold;
    this.#cut = cut;
    this.#publish();
    this.seenAt = seenAt;
    this.working = false;
  }

  update(seq: number): Update | undefined {
    return this.#log.get(seq);
  }

  /** How something stands that was asked here. */
  approval(id: string): Approval | undefined {
    // Drawn anew with the rows: the fold itself is not watched.
    void this.rows;
    return this.#fold.asked.get(id)?.approval;
  }

  row(key: string): Row | undefined {
    return findRow(this.rows, key);
  }

  /** Folds in what came. Returns false when an entry is missing, so that the log has to be asked for again. */
  take(batch: readonly Update[]): boolean {
    let whole = true;
    for (const update of batch) {
      const meta = update.params._meta?.openagents ?? {};
      if (meta.folded === true) {
        takeFolded((this.#snapshot ??= this.#renew()), update);
      } else {
        const applied = apply(this.#fold, update);
        if (applied === 'gap') whole = false;
        if (applied !== 'taken') continue;
        this.#log.set(update.seq, update);
      }
      const body = update.params.update;
      // What a delegate is told is not what this session is told.
      if (meta.parentCallId !== undefined) continue;
      if (body.sessionUpdate === 'current_mode_update') this.mode = body.currentModeId;
      if (body.sessionUpdate === 'user_message_chunk') this.#logged(body.content.type === 'text' ? body.content.text : '', openagents<PromptMeta>(body._meta));
      else if (body.sessionUpdate !== 'session_info_update' && body.sessionUpdate !== 'current_mode_update') this.waitingSince = null;
    }
    this.#publish();
    return whole;
  }

  /** A model says what it is doing, or that it is done. */
  doing(activity: Activity | null): void {
    this.activity = activity;
    this.#publish();
  }

  /** The list says that no turn runs here any more. */
  rests(): void {
    if (this.#known === null || !this.caughtUp || this.queue.length > 0) return;
    this.#fold.working = false;
    this.#publish();
  }

  /** `running`: a turn is at work. Where that is not said, one that left the queue runs, or another one does behind which it waited. */
  queued(queue: readonly QueuedPrompt[], running = this.#fold.working || queue.length < this.queue.length): void {
    this.#fold.working = running;
    this.queue = queue;
    this.#publish();
  }

  /** An attach is asked for; returns up to where this page has the log. */
  attaching(): number {
    this.caughtUp = false;
    this.#snapshot = null;
    this.#renewed = false;
    if (this.#cut) {
      this.#cut = false;
      this.#fold = emptyFold();
    }
    return this.seq;
  }

  /** The bridge's answer to `attach`: how far the log goes and whether a turn runs. */
  attached(answer: AttachResult): void {
    this.#known = answer;
    this.seenAt = null;
    this.queue = answer.queue ?? [];
    if (answer.mode !== undefined) this.mode = answer.mode;
    if (answer.title) this.title = answer.title;
    if (answer.snapshot) {
      // The first updates may have overtaken this answer, and even the last.
      if (!this.#renewed) this.#snapshot = this.#renew();
      this.#publish();
      return;
    }
    if (!answer.running) this.activity = null;
    this.#publish();
  }

  /** The folded state is whole: it stands for all entries up to `seq`. */
  snapshotEnded(seq: number): void {
    if (this.#snapshot === null) return;
    endSnapshot(this.#snapshot, seq, this.#known?.approvals ?? []);
    this.#fold = this.#snapshot.fold;
    this.#log = this.#snapshot.log;
    this.#snapshot = null;
    this.#publish();
  }

  #renew(): Snapshot {
    this.#renewed = true;
    return beginSnapshot();
  }

  /** There is no log to attach to. */
  unknown(problem: string): void {
    this.#known = { sessionId: this.id, seq: this.#fold.seq, running: false };
    this.#publish();
    this.problem = problem;
  }

  sending(text: string): Sent {
    const sent: Sent = { text, promptId: freshId(), logged: false, adrift: false };
    this.problem = null;
    this.#returned = null;
    if (!this.working) this.waitingSince = Date.now();
    this.#sent.push(sent);
    this.#publish();
    return sent;
  }

  /** The turn that this page asked for has ended. */
  ended(sent: Sent): void {
    this.#forget(sent);
    if (this.#sent.length === 0 && this.queue.length === 0) {
      this.activity = null;
      this.#fold.working = false;
      this.waitingSince = null;
    }
    this.#publish();
  }

  /** The bridge did not take the prompt: nothing comes of it, and nothing else changes. */
  refused(sent: Sent, problem: string): void {
    this.#forget(sent);
    if (!sent.logged) this.#putBack([sent.text]);
    if (this.#sent.length === 0) this.waitingSince = null;
    this.problem = problem;
    this.#publish();
  }

  /** The link broke: what became of the prompt is in the log at the next attach. */
  cutOff(sent: Sent): void {
    sent.adrift = true;
    this.#known = null;
    this.waitingSince = null;
    this.activity = null;
    if (sent.logged) this.#forget(sent);
    this.#publish();
  }

  #logged(text: string, { connection, promptId, removed }: PromptMeta): void {
    // The mark that a prompt was taken back names nobody.
    if (removed === true && text === '') return;
    const open = this.#sent.filter((sent) => !sent.logged);
    // The words alone do not say whose they are; a bridge that names nobody leaves no choice.
    const found = open.find((sent) => (connection === undefined && promptId === undefined ? sent.text === text : sent.promptId === promptId));
    if (found !== undefined) {
      found.logged = true;
      if (found.adrift) this.#forget(found);
    } else if (this.#returned?.text === text && (promptId === undefined || this.#returned.promptIds.includes(promptId))) {
      // It arrived after all: a bridge that was frozen has read on.
      if (this.draft === text) this.draft = '';
      this.#returned = null;
      this.problem = null;
    }
  }

  #forget(sent: Sent): void {
    this.#sent = this.#sent.filter((known) => known !== sent);
  }

  /** The whole log is here and holds no word of what was sent over a link that broke: it did not arrive. */
  #giveUp(): void {
    const lost = this.#sent.filter((sent) => sent.adrift);
    if (lost.length === 0) return;
    this.#sent = this.#sent.filter((sent) => !sent.adrift);
    const texts = lost.map((sent) => sent.text);
    this.#putBack(texts);
    this.#returned = { text: texts.join('\n\n'), promptIds: lost.map((sent) => sent.promptId) };
    this.problem = lost.length === 1 ? 'Your prompt did not arrive.' : 'Your prompts did not arrive.';
  }

  #putBack(texts: readonly string[]): void {
    this.draft = [...texts, ...(this.draft.trim() === '' ? [] : [this.draft])].join('\n\n');
  }

  #publish(): void {
    const fold = this.#fold;
    const known = this.#known;
    this.caughtUp = this.#snapshot === null && (known === null || fold.seq >= known.seq);
    this.catchingUp = known === null || this.caughtUp ? 0 : Math.max(0, known.seq - (this.#snapshot?.fold.seq ?? fold.seq));
    if (known !== null && this.caughtUp) this.#giveUp();
    // A log that ends in the middle of a turn (the bridge was killed) must not look as if it still worked.
    if (known?.running === false && fold.seq === known.seq) {
      settle(fold);
      if (this.#sent.length === 0) this.waitingSince = null;
    }
    publish(fold);
    this.rows = fold.rows.slice();
    this.plan = fold.plan;
    this.waiting = [...fold.asked.values()].filter(({ approval }) => approval.state === 'pending');
    this.title = fold.title ?? this.title;
    this.updates = fold.updates;
    this.working = fold.working || this.activity !== null || this.#sent.some((sent) => !sent.adrift);
    this.pending = this.#sent.filter((sent) => !sent.logged).map((sent) => sent.text);
    this.touchedAt = Date.now();
  }
}

/** 64 random bits; `crypto.randomUUID` is not there on every page that this one may be. */
function freshId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(16).padStart(8, '0')).join('');
}
