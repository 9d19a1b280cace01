import { METHODS } from '../connection/protocol';
import type {
  AgentCard,
  AgentOptions,
  AgentSession,
  AgentSessions,
  AgentsSnapshot,
  LoginScreen,
  SessionConfigOption,
  SessionRef,
  StandingRule,
} from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import type { Models } from '../models/models.svelte';
import { agentName, EXPLORER_MODE, LOCAL_MODE } from './agent-words';

/** An agent that can answer prompts. */
export interface Choice {
  id: string;
  name: string;
  local: boolean;
  why: string | null;
  /** The settings page that fixes it. */
  page: 'models' | 'agents';
}

/** The installed agents, from the bridge's snapshots, and the choices for answering a prompt. */
export class Agents extends SnapshotClient<AgentsSnapshot> {
  readonly #link: Link;
  readonly #models: Models;

  constructor(link: Link, models: Models) {
    super(link, METHODS.agents);
    this.#link = link;
    this.#models = models;
  }

  /** The options that an agent is expected to offer in a new session in a folder. */
  async options(agent: string, cwd: string): Promise<readonly SessionConfigOption[]> {
    return (await this.#link.request<AgentOptions>(`${METHODS.agents}/options`, { agent, cwd })).configOptions;
  }

  /** The sessions that an agent keeps itself in a folder, newest first. Starts the agent. */
  async sessions(agent: string, cwd: string): Promise<readonly AgentSession[]> {
    return (await this.#link.request<AgentSessions>(`${METHODS.agents}/sessions`, { agent, cwd })).sessions;
  }

  /** Continues an agent's session, or a copy of it, in a session here; resolves with its id. */
  async continueSession(agent: string, cwd: string, id: string, copy = false): Promise<string> {
    const wanted = { agent, cwd, id, ...(copy ? { copy } : {}) };
    return (await this.#link.request<SessionRef>(`${METHODS.agents}/continue_session`, wanted)).sessionId;
  }

  async deleteSession(agent: string, cwd: string, id: string): Promise<void> {
    await this.#link.request(`${METHODS.agents}/delete_session`, { agent, cwd, id });
  }

  /** Whether an agent says that it is able to do something: `session/list`, `image`. */
  supports(id: string, what: string): boolean {
    return this.snapshot?.agents.find((card) => card.id === id)?.supports.includes(what) ?? false;
  }

  /** Types into the agent's login. */
  async loginType(id: string, text: string): Promise<void> {
    await this.#link.request(`${METHODS.agents}/login_type`, { id, text });
  }

  /** Starts the agent's login, unless it runs, and returns its screens as they change, up to the last one. */
  login(id: string): AsyncIterable<LoginScreen> & { stop: () => void } {
    const link = this.#link;
    let stopped = false;
    async function* screens(): AsyncGenerator<LoginScreen> {
      await link.request(`${METHODS.agents}/log_in`, { id });
      let since = 0;
      while (!stopped) {
        const screen: LoginScreen = await link.request(`${METHODS.agents}/login_screen`, { id, since });
        since = screen.version;
        if (stopped) return;
        yield screen;
        if (screen.ended !== null) return;
      }
    }
    return { [Symbol.asyncIterator]: screens, stop: () => (stopped = true) };
  }

  /** Remembered answers, newest first. */
  async rules(): Promise<StandingRule[]> {
    return (await this.#link.request<{ rules: StandingRule[] }>(`${METHODS.approvals}/rules`, {})).rules;
  }

  async revokeRules(approvalId?: string): Promise<void> {
    await this.#link.request(`${METHODS.approvals}/revoke`, { approvalId });
  }

  /** All choices, OpenAgents first. */
  get choices(): Choice[] {
    const models = this.#models;
    const choices: Choice[] = [
      {
        id: EXPLORER_MODE,
        name: this.routes ? 'OpenAgents chooses' : 'OpenAgents',
        local: false,
        why: null,
        page: 'agents',
      },
    ];
    if (!models.absent && models.snapshot !== null) {
      choices.push({
        id: LOCAL_MODE,
        name: models.name,
        local: true,
        why: models.askable ? null : models.unavailable,
        page: 'models',
      });
    }
    for (const card of this.snapshot?.agents ?? []) {
      if (card.usable || card.custom || PREFERRED.has(card.id)) choices.push(choice(card));
    }
    return choices;
  }

  /** Prompts in the default mode are routed. */
  get routes(): boolean {
    return this.snapshot?.settings.choose ?? false;
  }

  /** The display name for a mode, a routing target or a provider id. */
  nameOf(id: string): string {
    if (id === LOCAL_MODE || id === 'gptoss') return this.#models.name;
    return this.snapshot?.agents.find((card) => card.id === id)?.name ?? agentName(id);
  }

  /** Whether the user can log in to an agent in the app. */
  canLogIn(id: string): boolean {
    return this.snapshot?.agents.find((card) => card.id === id)?.canLogIn ?? false;
  }

  /** Why prompts with images can't be sent to an agent; null if they may. OpenAgents may choose one that sees them. */
  blindness(id: string): string | null {
    if (id === LOCAL_MODE) return "The local model can't see images. Choose an agent.";
    const card = this.snapshot?.agents.find((card) => card.id === id);
    // An agent that has not been started yet says it itself.
    const isBlind =
      card?.transport === 'openai' ||
      (card !== undefined && card.introducesItself !== null && !card.supports.includes('image'));
    return isBlind ? `${card.name} can't see images. Choose another agent.` : null;
  }

  /** Whether everything sent to an agent stays on this machine. */
  isLocal(id: string): boolean {
    return (
      id === LOCAL_MODE ||
      id === 'gptoss' ||
      id === 'local_fm' ||
      (this.snapshot?.agents.some((card) => card.id === id && card.local) ?? false)
    );
  }
}

/** Offered even if not installed. */
const PREFERRED = new Set(['codex', 'claude-code']);

function choice({ id, name, local, usable, problem }: AgentCard): Choice {
  return { id, name, local, why: usable ? null : (problem ?? 'not available'), page: 'agents' };
}
