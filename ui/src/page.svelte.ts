import { EXPLORER_MODE } from './agents/agent-words';
import { Agents } from './agents/agents.svelte';
import type { Question } from './approval/question';
import { createBackend } from './backend';
import { BrowserBackend } from './backend/browser';
import type { Fragment } from './backend/fragment';
import { Link } from './connection/link.svelte';
import { Live } from './live/live.svelte';
import type { Shown } from './connection/link-words';
import { METHODS } from './connection/protocol';
import type { PastSession } from './connection/wire';
import { Frames } from './inspector/frames.svelte';
import { Devices } from './devices/devices.svelte';
import { holds } from './devices/device-words';
import { Editor } from './editor/editor.svelte';
import { Find } from './find/find.svelte';
import { Continuing } from './history/continuing.svelte';
import { History } from './history/history.svelte';
import { Keep } from './history/keep.svelte';
import { HistorySettings } from './history/history-settings.svelte';
import { Inspection } from './inspector/inspection.svelte';
import { Version } from './install/install.svelte';
import { Labels } from './labels/labels.svelte';
import { Models } from './models/models.svelte';
import { Offline } from './offline/offline.svelte';
import { Pairing } from './pairing/pairing.svelte';
import { Privacy } from './privacy/privacy.svelte';
import { Sharing } from './share/sharing.svelte';
import { ownEntry, pastEntry, type Entry } from './session/entry';
import type { Session } from './session/session.svelte';
import { Sessions } from './session/sessions.svelte';
import { UNFILTERED } from './sidebar/filter';
import { Listing } from './sidebar/listing.svelte';
import { Theme } from './theme/theme.svelte';
import { Markdown } from './markdown/markdown.svelte';
import { Navigation } from './navigation.svelte';
import { Clock } from './words/clock.svelte';
import { isAnsweredHere, Trusted } from './trust/trust';
import { baseName } from './words/places';
import { Draft, parseGoals } from './workspace/draft.svelte';
import { Usage } from './usage/usage.svelte';
import { Workspaces } from './workspace/workspaces.svelte';

/** The page: its connection, the state received over it, and what is shown. */
export class Page {
  readonly backend = createBackend();
  /** The browser backend; null in the desktop window, which is never paired. */
  readonly browser = this.backend instanceof BrowserBackend ? this.backend : null;
  readonly link: Link = new Link(
    this.backend,
    {
      updates: (batch) => this.sessions.take(batch),
      frames: (batch) => this.frames.take(batch),
      activity: (params) => this.sessions.doing(params),
      models: (snapshot) => this.models.take(snapshot),
      agents: (snapshot) => this.agents.take(snapshot),
      privacy: (snapshot) => this.privacy.take(snapshot),
      devices: (snapshot) => this.devices.take(snapshot),
      trust: (snapshot) => this.trusted.take(snapshot),
      access: (params) => {
        this.link.allowed(params);
        this.devices.connected();
      },
      sessions: (params) => this.sessions.changed(params),
      snapshot: (params) => this.sessions.snapshotEnded(params),
      queue: (params) => this.sessions.queued(params),
      historyChanged: (params) => this.history.changed(params),
      historySettings: (snapshot) => this.historySettings.take(snapshot),
      keepStatus: (snapshot) => this.keep.take(snapshot),
      liveChanged: (snapshot) => this.running.take(snapshot),
    },
    (root) => this.#connected(root),
  );
  readonly theme = new Theme();
  readonly draft = new Draft();
  readonly version = new Version();
  readonly editor = new Editor(this.backend);
  readonly frames = new Frames(this.link);
  readonly sessions = new Sessions(this.link);
  readonly models = new Models(this.link);
  readonly agents = new Agents(this.link, this.models);
  readonly continuing = new Continuing(
    this.agents,
    () => ({ mayPrompt: this.mayPrompt, isHere: this.access.device === null }),
    (id) => this.show(id),
  );
  readonly privacy = new Privacy(this.link);
  readonly devices = new Devices(this.link);
  readonly trusted = new Trusted(this.link);
  readonly workspaces = new Workspaces(this.link);
  readonly history = new History(this.link);
  readonly historySettings = new HistorySettings(this.link);
  readonly keep = new Keep(this.link);
  readonly running = new Live(this.link);
  readonly usage = new Usage(this.link);
  readonly sharing = new Sharing(this.link, this.backend);
  readonly labels = new Labels(this.link, {
    patchOwn: (id, change) => this.sessions.patch(id, change),
    patchPast: (provider, id, change) => this.history.patch(provider, id, change),
    remove: (id) => this.sessions.remove(id),
  });
  readonly markdown = new Markdown(
    async (text) => (await this.link.request<{ html: string }>(METHODS.markdown, { text })).html,
  );
  /** Null in the desktop window: its bridge is always reachable. */
  readonly offline = this.backend.kind === 'browser' ? new Offline(this.link, this.sessions) : null;
  readonly pairing = new Pairing((token) => {
    this.browser?.pairedWith(token);
    this.pairingChosen = false;
    this.link.reconnect();
  });
  readonly find = new Find();
  readonly inspection = new Inspection(() => this.history.open ?? this.sessions.open);

  readonly navigation = new Navigation(
    () => this.mayAdmin,
    () => this.editorHere !== null,
  );
  /** Ids of postponed questions. */
  aside = $state.raw<ReadonlySet<string>>(new Set());
  pairingChosen = $state(false);

  /** Ticks for ages, for running seconds, and for tenths at the start of a plan. */
  readonly ages = new Clock(15_000);
  readonly seconds = new Clock(1_000);
  readonly tenths = new Clock(100);
  readonly listing = new Listing(this.sessions.list, this.history, this.labels, () => this.ages.now);

  readonly isMac = /Mac|iPhone|iPad/.test(navigator.platform);
  readonly atHome = /^(?:127\.|localhost$|\[::1\]$)/.test(location.hostname);

  readonly session = $derived(this.sessions.open);
  readonly transcript = $derived(this.history.open);
  /** The list entry of the open session. */
  readonly openEntry = $derived.by<Entry | null>(() => {
    const { transcript } = this;
    if (transcript === null)
      return this.session === null ? null : (this.listing.find(null, this.session.id) ?? unlisted(this.session));
    return (
      this.listing.find(transcript.provider, transcript.id) ??
      (transcript.session === null ? null : pastEntry(transcript.session))
    );
  });
  readonly inSession = $derived(this.session !== null || this.sessions.starting !== null);
  readonly live = $derived(this.link.state.name === 'live');
  readonly access = $derived(this.link.access);
  readonly mayPrompt = $derived(holds(this.access.scope, 'prompt'));
  readonly mayApprove = $derived(holds(this.access.scope, 'approve'));
  /** Frames of all connections are visible to admins only. */
  readonly mayAdmin = $derived(holds(this.access.scope, 'admin'));
  readonly working = $derived(this.sessions.starting !== null || (this.session?.working ?? false));
  readonly unlinked = $derived(this.link.state.name === 'refused' || this.link.state.name === 'removed');
  readonly shown = $derived<Shown>(
    this.live && this.session !== null && !this.session.caughtUp
      ? { name: 'catching-up', left: this.session.catchingUp }
      : this.link.state,
  );
  /** The editor; null when the workspace files are on another machine. */
  readonly editorHere = $derived(
    this.backend.kind === 'tauri' || (this.atHome && this.access.device === null) ? this.editor : null,
  );
  /** A page loaded over the network can only get in by pairing. */
  readonly pairs = $derived.by(() => {
    const { state } = this.link;
    if (this.browser === null || !this.unlinked) return false;
    return (
      this.pairingChosen ||
      this.pairing.claimed !== null ||
      this.pairing.scanned ||
      (!this.atHome && state.name === 'refused' && state.why === 'no-token')
    );
  });
  /** Questions that this device may answer, oldest first. */
  readonly questions = $derived<Question[]>(
    this.sessions.waiting
      .filter(({ approval }) => isAnsweredHere(approval, this.access))
      .map((waiting) => ({
        approval: waiting.approval,
        sessionId: waiting.sessionId ?? waiting.session.id,
        shownIn: waiting.session.id,
        title: waiting.session.title ?? baseName(waiting.session.cwd),
        workspace: waiting.session.cwd,
        changes: this.sessions.asks(waiting.approval.id)?.content.filter((piece) => piece.type === 'diff') ?? [],
      })),
  );

  /** The session in the URL, which survives a reload. */
  readonly #first: string | null;

  /** The transcript in the URL, shown once the page is connected. */
  #arrived: Fragment['transcript'] = null;

  /** Connects and shows the session in the URL. */
  constructor({ session: first, transcript }: Fragment) {
    this.#first = first ?? transcript?.id ?? null;
    this.offline?.follow();
    if (this.browser !== null) this.pairing.begin(this.browser.offer);
    this.link.reconnect();
    if (first !== null) this.sessions.show(first);
    else if (transcript !== null) this.#arrived = transcript;
  }

  #connected(root: string | null): void {
    void this.version.check();
    this.markdown.connected();
    this.sessions.connected();
    this.models.connected();
    this.agents.connected();
    this.devices.connected();
    this.trusted.connected();
    void this.workspaces.read();
    void this.history.connected();
    this.running.connected();
    if (this.#arrived !== null) this.showTranscript(this.#arrived.provider, this.#arrived.id, this.#arrived.line);
    this.#arrived = null;
    if (root !== null && this.#first === null) this.explore(root);
  }

  show(id: string | null): void {
    this.#clear();
    this.history.close();
    this.sessions.show(id);
    if (id === null) void this.workspaces.read();
  }

  showTranscript(provider: string, id: string, line: number | null = null): void {
    this.#clear();
    this.sessions.show(null);
    this.history.show(provider, id, line);
  }

  /** Shows another agent's session and continues it in its agent, or asks there first. */
  continue(past: PastSession): void {
    if (this.transcript?.id !== past.id) this.showTranscript(past.provider, past.id);
    this.continuing.begin(past);
  }

  listSessionsOf(provider: string): void {
    this.listing.choose({ ...UNFILTERED, provider });
    this.navigation.showList();
  }

  explore(root: string, goals = ''): void {
    this.#begin(this.sessions.explore(root, parseGoals(goals)));
  }

  ask(root: string, text: string, mode: string): void {
    // Images are for an agent that is chosen.
    const attached = mode === EXPLORER_MODE ? [] : this.draft.attachments.all;
    this.#begin(this.sessions.ask(root, text, mode, this.draft.options, attached), attached.length > 0);
  }

  /** Sends a brief of another session to an agent, in a new session. */
  handOver(root: string, text: string, agent: string): void {
    this.#clear();
    this.history.close();
    void this.sessions.ask(root, text, agent, {}).then((begun) => {
      // The brief is not lost: it is the draft of the next session.
      if (!begun) this.draft.text = text;
    });
  }

  #begin(beginning: Promise<boolean>, isAttached = false): void {
    this.#clear();
    this.history.close();
    void beginning.then((begun) => {
      if (!begun) return;
      this.draft.used();
      if (isAttached) this.draft.attachments.clear();
    });
  }

  /** Closes whatever covers the session. */
  #clear(): void {
    this.inspection.close();
    this.find.close();
    this.navigation.clear();
  }

  async leave(): Promise<void> {
    await this.link.request('_openagents/devices/leave', {});
    this.browser?.unpaired();
    void this.offline?.forget();
    this.link.reconnect();
  }
}

/** The entry of a session older than the loaded part of the list. */
function unlisted({ id, title, cwd }: Session): Entry {
  return ownEntry({ id, title: title ?? 'Exploration', cwd, updatedAt: 0, running: false, waiting: 0 });
}
