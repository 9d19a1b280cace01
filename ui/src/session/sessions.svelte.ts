import { RequestError, type NewSessionResponse, type SetSessionConfigOptionResponse } from '@agentclientprotocol/sdk';
import { METHODS, type Update } from '../connection/protocol';
import type {
  ActivityParams,
  Approval,
  AttachResult,
  Excerpt,
  ExploreResult,
  FoundFiles,
  ImageData,
  PastSession,
  QueueParams,
  SessionsParams,
  SnapshotParams,
} from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { asSentence, sentence } from '../connection/errors.svelte';
import { EXPLORER_MODE } from '../agents/agent-words';
import { promptBlocks, type Attachment } from './attachments.svelte';
import type { Picture, ToolRow } from './rows';
import type { Asked } from './fold';
import { mentionable, type Mentionable } from './mentionable';
import { Session } from './session.svelte';
import { SessionList, type SessionItem } from './session-list.svelte';

/** An agent's question and its session. */
export interface Waiting extends Asked {
  session: Session;
}

/** A requested session that does not exist yet. */
export interface Starting {
  root: string;
  mode: string;
  since: number;
  /** It was stopped before its session existed. */
  stopped: boolean;
}

/** The offline store of sessions. */
interface Keeper {
  /** Deletes sessions that no longer exist. */
  forget(ids: readonly string[]): unknown;
  /** Deletes all but these. */
  keepOnly(ids: ReadonlySet<string>): unknown;
}

/** The error code for an unknown session. */
const NO_SESSION = -32002;
/** The number of images of prompts that a session keeps; others are read again. */
const KEPT_IMAGES = 20;
/** The number of sessions whose logs stay in memory. */
const KEPT = 8;

export class Sessions {
  open = $state.raw<Session | null>(null);
  starting = $state.raw<Starting | null>(null);
  /** Text typed while the session starts. */
  early = $state('');
  /** Why the last start failed. */
  problem = $state<string | null>(null);

  readonly list: SessionList;
  /** Stores the sessions that were opened; null in the desktop window. */
  keeper: Keeper | null = null;

  readonly #link: Link;
  readonly #known = new Map<string, Session>();
  /** The values of `#known`, as reactive state. */
  #followed = $state.raw<readonly Session[]>([]);
  /** Counts connections, so that each session is attached once per connection. */
  #connection = 0;

  constructor(link: Link) {
    this.#link = link;
    this.list = new SessionList(link);
  }

  /** All pending questions in the followed sessions, oldest first. */
  get waiting(): Waiting[] {
    const found = new Map<string, Waiting>();
    for (const session of this.#followed) {
      // A delegate's question is in every session above it.
      for (const asked of session.waiting)
        if (!found.has(asked.approval.id)) found.set(asked.approval.id, { ...asked, session });
    }
    return [...found.values()].sort((a, b) => a.approval.askedAt - b.approval.askedAt);
  }

  /** The current state of an approval, pending or not. */
  approval(id: string): Approval | undefined {
    for (const session of this.#followed) {
      const found = session.approval(id);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** The row of the call that asks. */
  asks(id: string): ToolRow | undefined {
    for (const session of this.#followed) {
      const asked = session.waiting.find(({ approval }) => approval.id === id);
      const row = asked === undefined ? undefined : session.row(asked.key);
      if (row?.kind === 'tool') return row;
    }
    return undefined;
  }

  /** The number of pending questions in a session; `listed` is that of its row, if it is known. */
  waitingIn(id: string, listed?: number): number {
    const followed = this.#followed.find((session) => session.id === id && session.caughtUp && session.updates > 0);
    return followed?.waiting.length ?? listed ?? this.list.find(id)?.waiting ?? 0;
  }

  /** Catches up with the open session and the running ones on a new connection. */
  connected(): void {
    this.#connection += 1;
    void this.#readList().catch(() => undefined);
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
        // The first updates of an exploration may arrive before the answer that names its session.
        if (updates[0]?.seq !== 1) continue;
        session = this.#keep(new Session(id));
      }
      const whole = session.take(updates);
      // A pending attach fills the gap.
      if (!whole && session.attachedOn === this.#connection && !session.attachingNow) void this.#attach(session);
    }
  }

  snapshotEnded({ sessionId, seq }: SnapshotParams): void {
    this.#known.get(sessionId)?.snapshotEnded(seq);
  }

  queued({ sessionId, queued, running }: QueueParams): void {
    this.#known.get(sessionId)?.queued(queued, running);
  }

  /** Applies changes to the list. */
  changed({ sessions, removed, reset = false }: SessionsParams): void {
    if (reset) void this.#readList().catch(() => undefined);
    for (const { before, after } of this.list.change(sessions, removed)) {
      const session = this.#known.get(after.id);
      if (session === undefined) continue;
      session.cwd = after.cwd;
      if (before !== undefined && before.title !== after.title) session.title = after.title;
      if (before?.running === true && !after.running) session.rests();
    }
    for (const id of removed) this.#forget(id);
    this.keeper?.forget(removed);
    this.#followBusy();
  }

  /** Changes a session in the list optimistically; returns its previous state. */
  patch(id: string, change: Partial<SessionItem>): SessionItem | undefined {
    const session = this.#known.get(id);
    if (change.title !== undefined && session !== undefined) session.title = change.title;
    return this.list.patch(id, change);
  }

  /** Deletes a session for all devices; rejects with the reason if that fails. */
  async remove(id: string): Promise<void> {
    await this.#link.request('session/delete', { sessionId: id });
    this.list.remove(id);
    this.#forget(id);
    this.keeper?.forget([id]);
  }

  /** Removes a prompt of any client from the queue. */
  async unqueue(session: Session, id: string): Promise<void> {
    session.problem = null;
    try {
      await this.#link.request(`${METHODS.queue}/remove`, { sessionId: session.id, id });
    } catch (error) {
      session.problem = sentence(error);
    }
  }

  /** What a prompt in a session can name, best first. */
  async mentionable(session: Session, query: string): Promise<readonly Mentionable[]> {
    const files = this.#link.request<FoundFiles>('_openagents/files/find', { sessionId: session.id, query });
    const search = { query, cwd: session.cwd, limit: 5 };
    const past =
      query.length < 2
        ? []
        : this.#link.request<{ sessions: PastSession[] }>('_openagents/sessions/search', search).then(
            // The search also finds sessions of other folders, which may be another customer's.
            ({ sessions }) => sessions.filter(({ cwd }) => cwd === session.cwd),
            // Other agents' sessions may not be read.
            () => [],
          );
    const others = this.list.items.filter(({ id, cwd }) => id !== session.id && cwd === session.cwd);
    return mentionable(query, session.rows, await files, others, await past);
  }

  /** The conversation of another session of the same folder as text; `provider` is null for one of ours. */
  async excerpt(session: Session, provider: string | null, id: string): Promise<string> {
    const query = { sessionId: session.id, id, ...(provider === null ? {} : { provider }) };
    return (await this.#link.request<Excerpt>('_openagents/sessions/excerpt', query)).text;
  }

  /** Sends the first prompt in the queue without waiting for the end of the turn. */
  async sendNow(session: Session, id: string): Promise<void> {
    session.problem = null;
    try {
      await this.#link.request(`${METHODS.queue}/send_now`, { sessionId: session.id, id });
    } catch (error) {
      session.problem = sentence(error);
    }
  }

  /** An image of a prompt; kept as long as the session is. */
  image(session: Session, hash: string): Promise<Picture> {
    const known = session.images.get(hash);
    if (known !== undefined) return known;
    const read = this.#link.request<ImageData>('_openagents/images/read', { sessionId: session.id, hash });
    session.images.set(hash, read);
    for (const oldest of session.images.keys()) {
      if (session.images.size <= KEPT_IMAGES) break;
      session.images.delete(oldest);
    }
    // It may be read again later.
    read.catch(() => session.images.delete(hash));
    return read;
  }

  /** Creates a session that goes on from where another is; resolves with its id. */
  async branch(sessionId: string): Promise<string> {
    return (await this.#link.request<{ sessionId: string }>('session/fork', { sessionId, cwd: '', mcpServers: [] }))
      .sessionId;
  }

  #forget(id: string): void {
    const gone = this.#known.get(id);
    if (gone !== undefined) gone.draft = '';
    this.#known.delete(id);
    this.#followed = [...this.#known.values()];
    if (this.open?.id === id) {
      this.open = null;
      this.problem = 'This session was deleted.';
    }
  }

  /** Follows all sessions with pending questions, and the running ones, which may ask next. */
  #followBusy(): void {
    const asking = this.list.items.filter((known) => known.waiting > 0);
    const running = this.list.items.filter((known) => known.running && known.waiting === 0).slice(0, KEPT);
    for (const { id } of [...asking, ...running]) {
      const session = this.#listed(id);
      if (session.attachedOn !== this.#connection) void this.#attach(session);
    }
  }

  doing({ sessionId, activity }: ActivityParams): void {
    this.#known.get(sessionId)?.doing(activity);
  }

  /** Selects the agent that answers from the next prompt on. */
  async setMode(session: Session, modeId: string): Promise<void> {
    const before = session.mode;
    session.mode = modeId;
    session.problem = null;
    try {
      await this.#link.request('session/set_mode', { sessionId: session.id, modeId });
    } catch (error) {
      session.mode = before;
      session.problem = `Couldn't switch agents: ${asSentence(sentence(error))}`;
    }
  }

  /** Sets an option of the agent that answers in a session. Its id begins with that of the agent. */
  async setOption(session: Session, configId: string, value: string): Promise<void> {
    session.problem = null;
    session.setting = true;
    try {
      const before = session.options;
      const { configOptions } = await this.#set(session.id, configId, value);
      // The log may be ahead of the answer.
      if (session.options === before) session.offered(agentOf(configId), configOptions);
    } catch (error) {
      session.problem = asSentence(sentence(error));
    } finally {
      session.setting = false;
    }
  }

  /** Asks again before each edit of the agent that may edit files until its turn ends. */
  async askBeforeEdits(session: Session, agent: string): Promise<void> {
    try {
      await this.#link.request('_openagents/approvals/ask_before_edits', { sessionId: session.id, agent });
    } catch (error) {
      session.problem = asSentence(sentence(error));
    }
  }

  /** Stops one sub-agent of the agent at work. */
  async stopSubagent(session: Session, subagent: string): Promise<void> {
    try {
      await this.#link.request('_openagents/subagents/stop', { sessionId: session.id, subagent });
    } catch (error) {
      session.problem = asSentence(sentence(error));
    }
  }

  #set(sessionId: string, configId: string, value: string): Promise<SetSessionConfigOptionResponse> {
    return this.#link.request('session/set_config_option', { sessionId, configId, value });
  }

  show(id: string | null): void {
    this.problem = null;
    this.open = id === null ? null : this.#listed(id);
    if (this.open !== null && this.open.attachedOn !== this.#connection) void this.#attach(this.open);
  }

  /** Explores a folder. Resolves with false if that could not start; `problem` says why. */
  explore(root: string, goals: string[]): Promise<boolean> {
    const begin = async (): Promise<string> =>
      (await this.#link.request<ExploreResult>(METHODS.explore, { root, goals })).sessionId;
    return this.#start(root, EXPLORER_MODE, begin, (session, starting) => {
      session.exploring(starting.since);
      if (starting.stopped) this.cancel(session);
    });
  }

  /** Starts a session in a mode and with values of options, and sends a prompt. Resolves with false if that could not start; `problem` says why. */
  ask(
    root: string,
    text: string,
    mode: string,
    options: Readonly<Record<string, string>>,
    attached: readonly Attachment[] = [],
  ): Promise<boolean> {
    const begin = async (): Promise<string> => {
      const { sessionId } = await this.#link.request<NewSessionResponse>('session/new', { cwd: root, mcpServers: [] });
      if (mode === EXPLORER_MODE) return sessionId;
      try {
        await this.#link.request('session/set_mode', { sessionId, modeId: mode });
        for (const [id, value] of Object.entries(options))
          if (agentOf(id) === mode) await this.#set(sessionId, id, value);
      } catch (error) {
        // Nothing was asked in it.
        await this.remove(sessionId).catch(() => undefined);
        throw error;
      }
      return sessionId;
    };
    return this.#start(root, mode, begin, (session, starting) => {
      if (!starting.stopped) return void this.prompt(session, text, attached);
      session.draft = text;
      session.attachments.all = attached;
    });
  }

  async #start(
    root: string,
    mode: string,
    begin: () => Promise<string>,
    begun: (session: Session, starting: Starting) => void,
  ): Promise<boolean> {
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

  /** Delegates a task to another agent, as a turn of its own. */
  async delegate(session: Session, args: Record<string, unknown>): Promise<void> {
    await this.#link.request(METHODS.delegate, { sessionId: session.id, arguments: args });
  }

  /** Answers an agent's question. Resolves with its state: another device may have been first. */
  answer(
    sessionId: string,
    approvalId: string,
    optionId: string,
    message?: string,
    content?: Record<string, unknown>,
  ): Promise<Approval> {
    const answer = { sessionId, approvalId, optionId, message, content };
    return this.#link.request<Approval>(`${METHODS.approvals}/answer`, answer);
  }

  /** Resumes an agent that exited, so that it asks again. */
  async resume(sessionId: string, approvalId: string): Promise<void> {
    await this.#link.request(`${METHODS.approvals}/resume`, { sessionId, approvalId });
  }

  /** Sends a prompt and resolves when its turn ends. A prompt that was not received goes back to the composer. */
  async prompt(session: Session, text: string, attached: readonly Attachment[] = []): Promise<void> {
    const connection = this.#connection;
    const sent = session.sending(text, attached);
    try {
      const prompt = promptBlocks(text, attached);
      await this.#link.request('session/prompt', {
        sessionId: session.id,
        prompt,
        _meta: { openagents: { promptId: sent.promptId } },
      });
      session.ended(sent);
    } catch (error) {
      const sameLink = this.#link.state.name === 'live' && connection === this.#connection;
      if (sameLink) session.refused(sent, sentence(error));
      else session.cutOff(sent);
    }
  }

  stop(): void {
    if (this.open !== null) this.cancel(this.open);
    else if (this.starting !== null) this.starting.stopped = true;
  }

  cancel(session: Pick<Session, 'id'>): void {
    this.#link.notify('session/cancel', { sessionId: session.id });
  }

  #reason(error: unknown): string {
    return this.#link.state.name === 'live' ? sentence(error) : 'Connection lost before the session started.';
  }

  async #readList(): Promise<void> {
    const connection = this.#connection;
    const whole = await this.list.read();
    if (connection !== this.#connection) return;
    if (whole) this.keeper?.keepOnly(new Set(this.list.items.map(({ id }) => id)));
    this.#followBusy();
    if (this.open !== null) this.#listed(this.open.id);
  }

  /** The session with this id, with its folder and title in the list. */
  #listed(id: string): Session {
    const session = this.#known.get(id) ?? this.#keep(new Session(id));
    const item = this.list.find(id);
    if (item !== undefined) {
      session.cwd = item.cwd;
      session.title ??= item.title;
    }
    return session;
  }

  async #attach(session: Session): Promise<void> {
    session.attachedOn = this.#connection;
    session.attachingNow = true;
    const since = session.attaching();
    try {
      const answer = await this.#link.request<AttachResult>(METHODS.attach, { sessionId: session.id, since });
      session.problem = null;
      session.attached(answer);
    } catch (error) {
      session.caughtUp = true;
      if (this.#link.state.name !== 'live') return;
      if (error instanceof RequestError && error.code === NO_SESSION) this.#deleted(session);
      session.unknown(sentence(error));
    } finally {
      session.attachingNow = false;
    }
  }

  /** It was deleted while this page was away: the stored copy goes too. */
  #deleted(session: Session): void {
    this.keeper?.forget([session.id]);
    this.list.remove(session.id);
    if (session.updates > 0) this.#forget(session.id);
  }

  #keep(session: Session): Session {
    this.#known.set(session.id, session);
    const busy = new Set(
      this.list.items.filter((known) => known.running || known.waiting > 0).map((known) => known.id),
    );
    for (const [id, old] of this.#known) {
      if (this.#known.size <= KEPT) break;
      if (old === this.open || old === session || !old.idle || old.attachingNow || busy.has(id)) continue;
      this.#known.delete(id);
      if (old.attachedOn === this.#connection) this.#detach(id);
    }
    this.#followed = [...this.#known.values()];
    return session;
  }

  /** Unsubscribes from a dropped session. */
  #detach(sessionId: string): void {
    void this.#link.request(METHODS.detach, { sessionId }).catch(() => undefined);
  }
}

/** The agent whose option it is. */
function agentOf(configId: string): string {
  return configId.slice(0, configId.indexOf('/'));
}
