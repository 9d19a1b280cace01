import type { PastDecision } from '../connection/agents-wire';
import type { Link } from '../connection/link.svelte';
import { asSentence, sentence } from '../connection/sentence';
import { METHODS } from '../connection/wire';

/** Past routing decisions, as kept by the bridge. */
export class Decisions {
  /** Newest first. */
  shown = $state.raw<readonly PastDecision[]>([]);
  problem = $state<string | null>(null);

  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  async read(): Promise<void> {
    try {
      this.shown = (
        await this.#link.request<{ decisions: PastDecision[] }>(`${METHODS.agents}/decisions`, {})
      ).decisions;
      this.problem = null;
    } catch (error) {
      this.problem = `Couldn't load decisions: ${asSentence(sentence(error))}`;
    }
  }
}
