import { Attempt } from '../connection/errors.svelte';

/** What was made for the newest choices of the user: an answer to older ones that comes late is dropped. */
export class Newest<Choices, Made> {
  made = $state.raw<Made | null>(null);
  readonly attempt = new Attempt();
  readonly #make: (choices: Choices) => Promise<Made>;
  #wanted: Choices | null = null;
  #madeFor = $state.raw<Choices | null>(null);

  constructor(make: (choices: Choices) => Promise<Made>) {
    this.#make = make;
  }

  /** Whether `made` is for these choices: others may still be on their way. */
  isFor(choices: Choices): boolean {
    return this.made !== null && this.#madeFor === choices;
  }

  want(choices: Choices): void {
    this.#wanted = choices;
    void this.attempt.run(async () => {
      try {
        const made = await this.#make(choices);
        if (this.#wanted === choices) [this.made, this.#madeFor] = [made, choices];
      } catch (error) {
        if (this.#wanted === choices) throw error;
      }
    });
  }
}
