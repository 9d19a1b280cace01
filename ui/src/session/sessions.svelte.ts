import type { ListSessionsResponse, NewSessionResponse } from '@agentclientprotocol/sdk';
import type { Approval } from '../connection/agents-wire';
import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/sentence';
import {
  METHODS,
  openagents,
  type ActivityParams,
  type AttachResult,
  type ExploreResult,
  type QueueParams,
  type SessionInfo,
  type SessionMeta,
  type SessionsParams,
  type SnapshotParams,
  type Update,
} from '../connection/wire';
import { EXPLORER_MODE } from '../agents/modes';
import type { Asked } from './fold';
import { Session } from './session.svelte';

/** A line of the sidebar. */
export interface SessionItem {
  id: string;
  title: string;
  cwd: string;
  updatedAt: number;
  running: boolean;
}

/** A question of an agent, in the session that it is asked in. */
export interface Waiting extends Asked {
  session: Session;
}

/** What has been asked for and has no session yet. */
export interface Starting {
  root: string;
  mode: string;
  since: number;
  /** A person stopped it before its session had a name. */
  stopped: boolean;
}

/** Pages of `session/list` that the sidebar shows. */
const PAGES = 5;
/** Sessions whose logs stay in memory after another one is opened. */
const KEPT = 8;

export class Sessions {
  items = $state.raw<readonly SessionItem[]>([]);
  listed = $state(false);
  open = $state.raw<Session | null>(null);
  starting = $state.raw<Starting | null>(null);
  /** What is written to the session that starts. */
  early = $state('');
  /** Why the last Start failed. */
  problem = $state<string | null>(null);

  readonly #link: () => Link;
  readonly #known = new Map<string, Session>();
  /** The same, to be drawn. */
  #followed = $state.raw<readonly Session[]>([]);
  /** Counts connections, so that each session is attached once on each. */
  #connection = 0;
  /** What is told of the list while it is read. */
  #told: { items: Map<string, SessionItem>; removed: Set<string> } | null = null;

  constructor(link: () => Link) {
    this.#link = link;
  }

  /** Everything that agents wait for, in the sessions that this page follows, oldest first. */
  get waiting(): Waiting[] {
    const found = new Map<string, Waiting>();
    for (const session of this.#followed) {
      // A question of a delegate stands in every session above it.
      for (const asked of session.waiting) if (!found.has(asked.approval.id)) found.set(asked.approval.id, { ...asked, session });
    }
    return [...found.values()].sort((a, b) => a.approval.askedAt - b.approval.askedAt);
  }

  /** How a question stands, whether it waits or not. */
  approval(id: string): Approval | undefined {
    for (const session of this.#followed) {
      const found = session.approval(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** How many questions wait in a session. */
  waitingIn(id: string): number {
    return this.#followed.find((session) => session.id === id)?.waiting.length ?? 0;
  }

  /** A connection is up: catch up with what is shown, and with what runs behind it. */
  connected(): void {
    this.#connection += 1;
    void this.#list().catch(() => undefined);
    for (const session of this.#known.values()) {
      if (session === this.open || !session.idle) void this.#attach(session);
    }
  }

  take(batch: readonly Update[]): void {
    const bySession = new Map<string, Update[]>();
    for (const update of batch) {
      const known = bySession.get(update.params.sessionId);
      if (known === undefined) bySession.set(update.params.sessionId, [update]);
      else known.push(update);
    }
    for (const [id, updates] of bySession) {
      let session = this.#known.get(id);
      if (session === undefined) {
        // The first updates of an exploration may overtake the answer that names its session.
        if (updates[0]?.seq !== 1) continue;
        session = this.#keep(new Session(id));
      }
      const whole = session.take(updates);
      // What an attach that is under way leaves out comes with its answer.
      if (!whole && session.attachedOn === this.#connection && !session.attachingNow) void this.#attach(session);
    }
  }

  snapshotEnded({ sessionId, seq }: SnapshotParams): void {
    this.#known.get(sessionId)?.snapshotEnded(seq);
  }

  queued({ sessionId, queued }: QueueParams): void {
    this.#known.get(sessionId)?.queued(queued);
  }

  /** The bridge says what changed in the list. */
  changed({ sessions, removed }: SessionsParams): void {
    for (const id of removed) {
      this.#told?.items.delete(id);
      this.#told?.removed.add(id);
    }
    const gone = new Set(removed);
    const items = new Map(this.items.filter(({ id }) => !gone.has(id)).map((known) => [known.id, known]));
    for (const info of sessions) {
      const next = item(info);
      const session = this.#known.get(next.id);
      if (session !== undefined) {
        session.cwd = next.cwd;
        if (items.get(next.id)?.running === true && !next.running) session.rests();
      }
      items.set(next.id, next);
      this.#told?.items.set(next.id, next);
    }
    this.items = [...items.values()];
    for (const id of removed) this.#forget(id);
    this.#followRunning();
  }

  /** Deletes a session for everybody; rejects with the reason when it stays. */
  async remove(id: string): Promise<void> {
    await this.#link().request('session/delete', { sessionId: id });
    this.items = this.items.filter((known) => known.id !== id);
    this.#forget(id);
  }

  /** Takes a prompt of whomever out of the queue. */
  async unqueue(session: Session, id: string): Promise<void> {
    session.problem = null;
    try {
      await this.#link().request(`${METHODS.queue}/remove`, { sessionId: session.id, id });
    } catch (error) {
      session.problem = sentence(error);
    }
  }

  #forget(id: string): void {
    this.#known.delete(id);
    this.#followed = [...this.#known.values()];
    if (this.open?.id === id) {
      this.open = null;
      this.problem = 'This session was deleted.';
    }
  }

  /** What runs may ask something, and is followed for that, whatever is on the screen. */
  #followRunning(): void {
    for (const { id, running, cwd, title } of this.items.filter((known) => known.running).slice(0, KEPT)) {
      const session = this.#known.get(id) ?? this.#keep(new Session(id));
      if (!running || session.attachedOn === this.#connection) continue;
      session.cwd = cwd;
      session.title ??= title;
      void this.#attach(session);
    }
  }

  doing({ sessionId, activity }: ActivityParams): void {
    this.#known.get(sessionId)?.doing(activity);
  }

  /** Chooses which agent answers from the next prompt on. */
  async setMode(session: Session, modeId: string): Promise<void> {
    const before = session.mode;
    session.mode = modeId;
    session.problem = null;
    try {
      await this.#link().request('session/set_mode', { sessionId: session.id, modeId });
    } catch (error) {
      session.mode = before;
      session.problem = `The mode stays as it was: ${sentence(error)}`;
    }
  }

  show(id: string | null): void {
    this.problem = null;
    if (id === null) {
      this.open = null;
      return;
    }
    const session = this.#known.get(id) ?? this.#keep(new Session(id));
    const item = this.items.find((known) => known.id === id);
    if (item !== undefined) {
      session.cwd = item.cwd;
      session.title ??= item.title;
    }
    this.open = session;
    if (session.attachedOn !== this.#connection) void this.#attach(session);
  }

  /** Explores a folder. Resolves with false when that could not begin; `problem` says why. */
  explore(root: string, goals: string[]): Promise<boolean> {
    const begin = async (): Promise<string> => (await this.#link().request<ExploreResult>(METHODS.explore, { root, goals })).sessionId;
    return this.#start(root, EXPLORER_MODE, begin, (session, starting) => {
      if (session.updates === 0) session.waitingSince = starting.since;
      if (starting.stopped) this.cancel(session);
    });
  }

  /** Begins a session in a mode with a prompt. Resolves with false when that could not begin; `problem` says why. */
  ask(root: string, text: string, mode: string): Promise<boolean> {
    const begin = async (): Promise<string> => {
      const { sessionId } = await this.#link().request<NewSessionResponse>('session/new', { cwd: root, mcpServers: [] });
      if (mode !== EXPLORER_MODE) await this.#link().request('session/set_mode', { sessionId, modeId: mode });
      return sessionId;
    };
    return this.#start(root, mode, begin, (session, starting) => {
      if (starting.stopped) session.draft = text;
      else void this.prompt(session, text);
    });
  }

  async #start(root: string, mode: string, begin: () => Promise<string>, begun: (session: Session, starting: Starting) => void): Promise<boolean> {
    this.problem = null;
    this.open = null;
    const starting: Starting = { root, mode, since: Date.now(), stopped: false };
    this.starting = starting;
    this.early = '';
    try {
      const id = await begin();
      const session = this.#known.get(id) ?? this.#keep(new Session(id));
      session.cwd = root;
      session.mode = mode;
      session.attachedOn = this.#connection;
      begun(session, starting);
      if (this.starting === starting) {
        this.open = session;
        if (session.draft === '') session.draft = this.early;
      }
      return true;
    } catch (error) {
      if (this.starting === starting) this.problem = this.#reason(error);
      return false;
    } finally {
      if (this.starting === starting) this.starting = null;
    }
  }

  /** Hands a task to another agent: a turn that is this one call. */
  async delegate(session: Session, args: Record<string, unknown>): Promise<void> {
    await this.#link().request(METHODS.delegate, { sessionId: session.id, arguments: args });
  }

  /** Answers what an agent asks. Resolves with how it stands then: somebody may have been first. */
  answer(sessionId: string, approvalId: string, optionId: string): Promise<Approval> {
    return this.#link().request<Approval>(`${METHODS.approvals}/answer`, { sessionId, approvalId, optionId });
  }

  /** Lets an agent that is gone ask again. */
  async resume(sessionId: string, approvalId: string): Promise<void> {
    await this.#link().request(`${METHODS.approvals}/resume`, { sessionId, approvalId });
  }

  /** Sends a prompt and resolves when its turn is over. A prompt that comes to nothing is back in the composer. */
  async prompt(session: Session, text: string): Promise<void> {
    const connection = this.#connection;
    const sent = session.sending(text);
    try {
      const prompt = [{ type: 'text', text }];
      await this.#link().request('session/prompt', { sessionId: session.id, prompt, _meta: { openagents: { promptId: sent.promptId } } });
      session.ended(sent);
    } catch (error) {
      const sameLink = this.#link().state.name === 'live' && connection === this.#connection;
      if (sameLink) session.refused(sent, sentence(error));
      else session.cutOff(sent);
    }
  }

  stop(): void {
    if (this.open !== null) this.cancel(this.open);
    else if (this.starting !== null) this.starting.stopped = true;
  }

  cancel(session: Pick<Session, 'id'>): void {
    this.#link().notify('session/cancel', { sessionId: session.id });
  }

  #reason(error: unknown): string {
    return this.#link().state.name === 'live' ? sentence(error) : 'The link broke before the session began.';
  }

  /** Reads the list once for each connection; what changes in it is told from then on. */
  async #list(): Promise<void> {
    const connection = this.#connection;
    const told = { items: new Map<string, SessionItem>(), removed: new Set<string>() };
    this.#told = told;
    const found: SessionItem[] = [];
    let cursor: string | null | undefined;
    for (let page = 0; page < PAGES; page += 1) {
      const answer: ListSessionsResponse = await this.#link().request('session/list', cursor ? { cursor } : { _meta: { openagents: { watch: true } } });
      if (connection !== this.#connection) return;
      found.push(...answer.sessions.map(item));
      cursor = answer.nextCursor;
      if (!cursor) break;
    }
    // What was told meanwhile is newer.
    const items = new Map(found.filter(({ id }) => !told.removed.has(id)).map((known) => [known.id, known]));
    for (const known of told.items.values()) items.set(known.id, known);
    this.#told = null;
    this.items = [...items.values()];
    this.listed = true;
    this.#followRunning();
    const open = this.open;
    const shown = items.get(open?.id ?? '');
    if (open !== null && shown !== undefined) {
      open.cwd = shown.cwd;
      open.title ??= shown.title;
    }
  }

  async #attach(session: Session): Promise<void> {
    session.attachedOn = this.#connection;
    session.attachingNow = true;
    const since = session.attaching();
    try {
      const answer = await this.#link().request<AttachResult>(METHODS.attach, { sessionId: session.id, since });
      session.problem = null;
      session.attached(answer);
      if (answer.seq < since && !answer.snapshot) await this.#link().request(METHODS.attach, { sessionId: session.id, since: 0 });
    } catch (error) {
      session.caughtUp = true;
      if (this.#link().state.name === 'live') session.unknown(sentence(error));
    } finally {
      session.attachingNow = false;
    }
  }

  #keep(session: Session): Session {
    this.#known.set(session.id, session);
    for (const [id, old] of this.#known) {
      if (this.#known.size <= KEPT) break;
      if (old !== this.open && old !== session && old.idle) this.#known.delete(id);
    }
    this.#followed = [...this.#known.values()];
    return session;
  }
}

function item(info: SessionInfo): SessionItem {
  const time = info.updatedAt ? Date.parse(info.updatedAt) : Number.NaN;
  return {
    id: info.sessionId,
    title: info.title || 'Exploration',
    cwd: info.cwd,
    updatedAt: Number.isNaN(time) ? 0 : time,
    running: openagents<SessionMeta>(info._meta).running ?? false,
  };
}
