import { EXPLORER_MODE } from '../agents/agent-words';
import { tabStorage } from '../backend/storage';
import { type Update, openagents } from '../connection/protocol';
import type {
  Activity,
  Approval,
  AttachResult,
  PromptMeta,
  QueuedPrompt,
  SessionConfigOption,
} from '../connection/wire';
import { Attachments, type Attachment } from './attachments.svelte';
import { Unfolded } from '../kit/unfolded.svelte';
import type { PlanView } from '../plan/plan';
import { findRow, type Picture, type Row } from './rows';
import { apply, emptyFold, publish, settle, type Asked, type Fold } from './fold';
import { beginSnapshot, endSnapshot, RecentUpdates, takeFolded, type Snapshot } from './snapshot';

/** Where the texts of the composers are stored. */
const DRAFT = 'openagents.draft.';

/** Updates that show no work. */
const ASIDE: ReadonlySet<string> = new Set([
  'session_info_update',
  'current_mode_update',
  'available_commands_update',
  'config_option_update',
  'usage_update',
]);

/** One session: its log, the state folded from it, and the user's input. */
export class Session {
  readonly id: string;
  cwd = $state('');
  title = $state<string | null>(null);
  rows = $state.raw<readonly Row[]>([]);
  plan = $state.raw<PlanView | null>(null);
  /** Pending approvals, oldest first. */
  waiting = $state.raw<readonly Asked[]>([]);
  updates = $state(0);
  working = $state(false);
  /** The agent that answers prompts here. */
  mode = $state<string>(EXPLORER_MODE);
  /** The commands that an agent offers; null if none reported any. */
  commands = $state.raw<Fold['commands']>(null);
  /** The options that an agent offers; null if none reported any. */
  options = $state.raw<Fold['options']>(null);
  /** The agent that may edit files until its turn ends; null if none may. */
  edits = $state<string | null>(null);
  loggedOut = $state<string | null>(null);
  /** A change of an option has been requested and is not answered yet. */
  setting = $state(false);
  usage = $state.raw<Fold['usage']>(null);
  /** The activity of the answering model; null if none is active. */
  activity = $state.raw<Activity | null>(null);
  /** False while older log entries are missing. */
  caughtUp = $state(true);
  /** The number of missing log entries. */
  catchingUp = $state(0);
  /** Prompts of all clients that are queued behind the running turn, oldest first. */
  queue = $state.raw<readonly QueuedPrompt[]>([]);
  /** Sent prompts that are not in the log yet, oldest first. */
  pending = $state.raw<readonly string[]>([]);
  /** When this page made a request that has no reaction yet. */
  waitingSince = $state<number | null>(null);
  /** This page's clock at the newest update; running times count on from it. */
  touchedAt = $state(Date.now());
  problem = $state<string | null>(null);
  /** When this page last saw it, if a stored copy is shown; null once the bridge has answered. */
  seenAt = $state<number | null>(null);
  /** Fold state of its rows. */
  readonly unfolded = new Unfolded();
  /** The images of its prompts that were read, by hash. */
  readonly images = new Map<string, Promise<Picture>>();
  /** The last connection on which this session was attached. */
  attachedOn = -1;
  /** An attach request is pending. */
  attachingNow = false;

  /** What goes with the text in the composer. */
  readonly attachments = new Attachments();
  #draft = $state('');
  #fold: Fold = emptyFold();
  /** Only the end of the log is here; it has to be loaded from the beginning. */
  #cut = false;
  #recent = new RecentUpdates();
  /** The snapshot that is arriving and replaces the shown state; null if there is none. */
  #snapshot: Snapshot | null = null;
  /** A snapshot has begun since the last attach request. */
  #renewed = false;
  #sent: Sent[] = [];
  #request: Request | null = null;
  /** The number of updates about the agents' work. */
  #workUpdates = 0;
  /** The answer to the last attach; null if it is out of date. */
  #known: Pick<AttachResult, 'seq' | 'running' | 'approvals'> | null = null;
  /** The prompt that was put back into the composer because it was not received. */
  #returned: Sent | null = null;

  constructor(id: string) {
    this.id = id;
    this.#draft = tabStorage.read(DRAFT + id) ?? '';
  }

  /** The text in the composer. It survives a reload of the page. */
  get draft(): string {
    return this.#draft;
  }

  set draft(text: string) {
    this.#draft = text;
    tabStorage.write(DRAFT + this.id, text === '' ? null : text);
  }

  get seq(): number {
    return this.#fold.seq;
  }

  /** Nothing is lost if this page drops it. */
  get idle(): boolean {
    return !this.working && this.#sent.length === 0 && this.draft === '' && this.attachments.all.length === 0;
  }

  /** The folded state, for offline storage. Read-only. */
  get folded(): Readonly<Fold> {
    return this.#fold;
  }

  /** Shows a stored copy; `cut` if it is only the end. */
  restore(fold: Fold, seenAt: number, cut: boolean): void {
    this.#fold = fold;
    this.#cut = cut;
    this.seenAt = seenAt;
    this.#publish();
  }

  /** An update as received; only the newest are kept. */
  update(seq: number): Update | undefined {
    return this.#recent.get(seq);
  }

  /** The current state of an approval. */
  approval(id: string): Approval | undefined {
    // Depends on the rows, because the fold itself is not reactive.
    void this.rows;
    return this.#fold.asked.get(id)?.approval;
  }

  row(key: string): Row | undefined {
    return findRow(this.rows, key);
  }

  /** Applies updates. Returns false if an entry is missing, so that the log has to be requested again. */
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
        this.#recent.add(update);
      }
      const body = update.params.update;
      // A delegate's updates are not this session's.
      if (meta.parentCallId !== undefined) continue;
      if (body.sessionUpdate === 'current_mode_update') this.mode = body.currentModeId;
      if (body.sessionUpdate === 'user_message_chunk')
        this.#logged(body.content.type === 'text' ? body.content.text : '', openagents<PromptMeta>(body._meta));
      else if (!ASIDE.has(body.sessionUpdate)) this.#workUpdates += 1;
    }
    this.#publish();
    return whole;
  }

  /** The model's activity changed. */
  doing(activity: Activity | null): void {
    this.activity = activity;
    this.#publish();
  }

  /** The answer to a change of an option, which comes before the log does. */
  offered(agent: string, value: readonly SessionConfigOption[]): void {
    this.#fold.options = { agent, value };
    this.#publish();
  }

  /** The session list reports that no turn is running. */
  rests(): void {
    if (this.#known === null || !this.caughtUp || this.queue.length > 0) return;
    this.#turns(false);
  }

  /** The queue changed; `running`: a turn is running. */
  queued(queue: readonly QueuedPrompt[], running: boolean): void {
    this.queue = queue;
    this.#turns(running);
  }

  /** The bridge reports whether a turn is running, as of the newest entry. */
  #turns(running: boolean): void {
    this.#fold.working = running;
    if (!running && this.#sent.length === 0) this.#request = null;
    this.#publish();
  }

  /** Prepares an attach request; returns the last entry that this page has. */
  attaching(): number {
    this.caughtUp = false;
    // The bridge sends an activity that has not ended again.
    this.activity = null;
    this.#snapshot = null;
    this.#renewed = false;
    if (this.#cut) {
      this.#cut = false;
      this.#fold = emptyFold();
    }
    return this.seq;
  }

  /** Takes the answer to `attach`: the end of the log and whether a turn is running. */
  attached(answer: AttachResult): void {
    this.#known = answer;
    this.seenAt = null;
    this.queue = answer.queue;
    this.mode = answer.mode;
    if (answer.title) this.title = answer.title;
    if (!answer.running) this.activity = null;
    if (answer.snapshot) {
      // The first updates, and even the last, may arrive before this answer.
      if (!this.#renewed) this.#snapshot = this.#renew();
    }
    this.#publish();
  }

  /** The snapshot is complete: it stands for all entries up to `seq`. */
  snapshotEnded(seq: number): void {
    if (this.#snapshot === null) return;
    endSnapshot(this.#snapshot, seq, this.#known?.approvals ?? []);
    this.#fold = this.#snapshot.fold;
    this.#recent = this.#snapshot.recent;
    this.#snapshot = null;
    this.#publish();
  }

  #renew(): Snapshot {
    this.#renewed = true;
    return beginSnapshot();
  }

  /** The session has no log to attach to. */
  unknown(problem: string): void {
    this.#known = { seq: this.#fold.seq, running: false, approvals: [] };
    this.#publish();
    this.problem = problem;
  }

  /** This page requested an exploration, which begins without a prompt. */
  exploring(since: number): void {
    if (this.updates > 0) return;
    this.#request = { since, workUpdates: this.#workUpdates };
    this.#publish();
  }

  sending(text: string, attached: readonly Attachment[] = []): Sent {
    const sent: Sent = { text, attached, promptId: freshId(), logged: false, adrift: false };
    this.problem = null;
    this.#returned = null;
    if (!this.working) this.#request = { since: Date.now(), workUpdates: this.#workUpdates };
    this.#sent.push(sent);
    this.#publish();
    return sent;
  }

  /** The turn that this page requested has ended. */
  ended(sent: Sent): void {
    this.#forget(sent);
    if (this.#sent.length > 0 || this.queue.length > 0) return this.#publish();
    this.activity = null;
    this.#turns(false);
  }

  /** The bridge refused the prompt: nothing else changes. */
  refused(sent: Sent, problem: string): void {
    this.#forget(sent);
    if (!sent.logged) this.#putBack([sent]);
    if (this.#sent.length === 0) this.#request = null;
    this.problem = problem;
    this.#publish();
  }

  /** The connection broke: the log of the next attach tells whether the prompt was received. */
  cutOff(sent: Sent): void {
    sent.adrift = true;
    this.#known = null;
    this.#request = null;
    this.activity = null;
    if (sent.logged) this.#forget(sent);
    this.#publish();
  }

  #logged(text: string, { promptId, removed }: PromptMeta): void {
    // The entry that marks a removed prompt does not name its sender.
    if (removed === true && text === '') return;
    const found = this.#sent.find((sent) => !sent.logged && sent.promptId === promptId);
    if (found !== undefined) {
      found.logged = true;
      if (found.adrift) this.#forget(found);
    } else if (promptId !== undefined && this.#returned?.promptId === promptId) {
      // It was received after all: a frozen bridge has resumed.
      if (this.draft === this.#returned.text) {
        this.draft = '';
        this.attachments.clear();
      }
      this.#returned = null;
      this.problem = null;
    }
  }

  #forget(sent: Sent): void {
    this.#sent = this.#sent.filter((known) => known !== sent);
  }

  /** Once the log is complete, prompts of a broken connection that it lacks were not received. */
  #giveUp(): void {
    const lost = this.#sent.filter((sent) => sent.adrift);
    if (lost.length === 0) return;
    this.#sent = this.#sent.filter((sent) => !sent.adrift);
    this.#putBack(lost);
    this.#returned = lost.length === 1 ? (lost[0] ?? null) : null;
    this.problem =
      lost.length === 1 ? "Not sent; it's back in the composer." : "Not sent; they're back in the composer.";
  }

  #putBack(sent: readonly Sent[]): void {
    this.attachments.all = [...sent.flatMap(({ attached }) => attached), ...this.attachments.all];
    const texts = sent.map(({ text }) => text);
    this.draft = [...texts, ...(this.draft.trim() === '' ? [] : [this.draft])].join('\n\n');
  }

  #publish(): void {
    const fold = this.#fold;
    const known = this.#known;
    this.caughtUp = this.#snapshot === null && (known === null || fold.seq >= known.seq);
    this.catchingUp =
      known === null || this.caughtUp ? 0 : Math.max(0, known.seq - (this.#snapshot?.fold.seq ?? fold.seq));
    if (known !== null && this.caughtUp) this.#giveUp();
    // A log that ends in the middle of a turn (the bridge was killed) must not look as if the turn were running.
    if (known?.running === false && fold.seq === known.seq) {
      settle(fold);
      if (this.#sent.length === 0) this.#request = null;
    }
    publish(fold);
    this.rows = fold.rows.slice();
    this.plan = fold.plan;
    this.commands = fold.commands;
    this.options = fold.options;
    this.edits = fold.edits;
    this.loggedOut = fold.loggedOut;
    this.usage = fold.usage;
    this.waiting = [...fold.asked.values()].filter(({ approval }) => approval.state === 'pending');
    this.title = fold.title ?? this.title;
    this.updates = fold.updates;
    const { working, waitingSince } = busy({
      turn: fold.working,
      active: this.activity !== null,
      sent: this.#sent,
      request: this.#request,
      workUpdates: this.#workUpdates,
      stored: this.seenAt !== null,
    });
    this.working = working;
    this.waitingSince = waitingSince;
    this.pending = this.#sent.filter((sent) => !sent.logged).map(({ text }) => (text === '' ? 'Attachments' : text));
    this.touchedAt = Date.now();
  }
}

/** 64 random bits; `crypto.randomUUID` needs a secure context, which this page may not have. */
function freshId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(2)), (part) => part.toString(16).padStart(8, '0')).join('');
}

/** A prompt that was sent and not answered yet. */
export interface Sent {
  text: string;
  attached: readonly Attachment[];
  /** Identifies the prompt in the log, even if another client sends the same text. */
  promptId: string;
  /** It is in the session's log. */
  logged: boolean;
  /** The connection broke before the answer: only the log can tell whether it was received. */
  adrift: boolean;
}

/** A request of this page in an idle session. */
export interface Request {
  /** Milliseconds since the epoch, by this page's clock. */
  since: number;
  /** The session's `workUpdates` at that time. */
  workUpdates: number;
}

/** The inputs that together decide whether a session is busy. */
export interface Signs {
  /** A turn is running, by the log and the bridge's reports. */
  turn: boolean;
  /** The model that answers is active. */
  active: boolean;
  /** Prompts of this page. */
  sent: readonly Pick<Sent, 'adrift'>[];
  /** The last request; null once its turn is over. */
  request: Request | null;
  /** The number of updates about the agents' work so far. */
  workUpdates: number;
  /** A stored copy is shown: its turn may be long over. */
  stored: boolean;
}

interface Busy {
  working: boolean;
  /** When the request without a reaction was made; null if there is none. */
  waitingSince: number | null;
}

/** Whether a session is busy, and since when without a sign of life. */
export function busy({ turn, active, sent, request, workUpdates, stored }: Signs): Busy {
  const waitingSince = request !== null && request.workUpdates === workUpdates ? request.since : null;
  return {
    working: (turn && !stored) || active || sent.some(({ adrift }) => !adrift) || waitingSince !== null,
    waitingSince,
  };
}
