import type { AgentCard, AgentsSnapshot } from '../connection/agents-wire';
import type { Link } from '../connection/link.svelte';
import { Watched } from '../connection/watched.svelte';
import { METHODS } from '../connection/wire';
import type { Models } from '../models/models.svelte';
import { agentName } from './agent-words';
import { EXPLORER_MODE, LOCAL_MODE } from './modes';

/** Somebody who can answer prompts. */
export interface Choice {
  /** The mode. */
  id: string;
  name: string;
  local: boolean;
  /** Why it cannot answer now; null when it can. */
  why: string | null;
  /** Where that is mended. */
  page: 'models' | 'agents';
}

/** The agents of this machine as the bridge tells of them, and those who can answer a prompt. */
export class Agents extends Watched<AgentsSnapshot> {
  readonly #models: Models;

  constructor(link: () => Link, models: Models) {
    super(link, METHODS.agents);
    this.#models = models;
  }

  /** Everybody who can be chosen, OpenAgents first. */
  get choices(): Choice[] {
    const models = this.#models;
    const choices: Choice[] = [{ id: EXPLORER_MODE, name: this.choosing ? 'OpenAgents chooses' : 'OpenAgents', local: false, why: null, page: 'agents' }];
    if (!models.absent && models.snapshot !== null) {
      choices.push({ id: LOCAL_MODE, name: models.name, local: true, why: models.askable ? null : models.unavailable, page: 'models' });
    }
    for (const card of this.snapshot?.agents ?? []) {
      if (card.usable || card.custom || PREFERRED.has(card.id)) choices.push(choice(card));
    }
    return choices;
  }

  /** Prompts that are left to OpenAgents are routed. */
  get choosing(): boolean {
    return this.snapshot?.settings.choose ?? false;
  }

  /** What an agent is called, by its mode, by the name of a routing target or by a provider's id. */
  nameOf(id: string): string {
    if (id === LOCAL_MODE || id === 'gptoss') return this.#models.name;
    return this.snapshot?.agents.find((card) => card.id === id)?.name ?? agentName(id);
  }

  /** Whether nothing that an agent is told leaves this machine. */
  isLocal(id: string): boolean {
    return id === LOCAL_MODE || id === 'gptoss' || id === 'local_fm' || (this.snapshot?.agents.some((card) => card.id === id && card.local) ?? false);
  }
}

/** They are offered even where they are not installed. */
const PREFERRED = new Set(['codex', 'claude-code']);

function choice({ id, name, local, usable, problem }: AgentCard): Choice {
  return { id, name, local, why: usable ? null : (problem ?? 'not available'), page: 'agents' };
}
