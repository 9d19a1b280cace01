import type { Agents } from '../agents/agents.svelte';
import { Attempt, faultKind, sentence } from '../connection/errors.svelte';
import type { PastSession } from '../connection/wire';
import { pastKey } from '../session/entry';

/** What the user confirms first: that a log is written into the agent's folder, or that a copy is continued. */
type Question = { about: 'restore' } | { about: 'copy'; why: string };

/** What this device may do. */
interface Access {
  mayPrompt: boolean;
  /** Where the bridge runs. */
  isHere: boolean;
}

/** Continues another agent's session in its own agent, one at a time. */
export class Continuing {
  readonly #agents: Agents;
  readonly #access: () => Access;
  readonly #show: (sessionId: string) => void;
  readonly #attempt = new Attempt();
  /** The session that the question or the problem is about. */
  #of = $state<string | null>(null);
  #question = $state.raw<Question | null>(null);

  constructor(agents: Agents, access: () => Access, show: (sessionId: string) => void) {
    this.#agents = agents;
    this.#access = access;
    this.#show = show;
  }

  get busy(): boolean {
    return this.#attempt.busy;
  }

  question(past: PastSession): Question | null {
    return this.#of === pastKey(past) ? this.#question : null;
  }

  problem(past: PastSession): string | null {
    return this.#of === pastKey(past) ? this.#attempt.problem : null;
  }

  dismiss(): void {
    this.#question = null;
    this.#attempt.problem = null;
  }

  /** Whether the session's agent can open it here. */
  isPossible({ provider, cwd, folderMissing, needsBrief, kept }: PastSession): boolean {
    const { mayPrompt, isHere } = this.#access();
    return (
      mayPrompt &&
      cwd !== null &&
      folderMissing !== true &&
      needsBrief !== true &&
      (!kept || isHere) &&
      ['session/resume', 'session/load'].some((what) => this.#agents.supports(provider, what))
    );
  }

  /** Continues a session, or asks first if its log has to be written back. */
  begin(past: PastSession): void {
    if (this.busy) return;
    this.#of = pastKey(past);
    this.dismiss();
    if (past.kept) this.#question = { about: 'restore' };
    else void this.#continue(past, false);
  }

  /** The user has confirmed the question. */
  confirm(past: PastSession): void {
    const copies = this.question(past)?.about === 'copy';
    this.dismiss();
    void this.#continue(past, copies);
  }

  async #continue({ provider, cwd, id }: PastSession, copy: boolean): Promise<void> {
    const mayCopy = !copy && this.#agents.supports(provider, 'session/fork');
    await this.#attempt.run(async () => {
      try {
        this.#show(await this.#agents.continueSession(provider, cwd ?? '', id, copy));
      } catch (error) {
        if (!mayCopy || faultKind(error) !== 'open') throw error;
        this.#question = { about: 'copy', why: sentence(error) };
      }
    });
  }
}
