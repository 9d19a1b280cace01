import { asSentence, sentence } from './sentence';

/** An action that may fail: whether it is running, and why the last one failed. */
export class Attempt {
  busy = $state(false);
  problem = $state<string | null>(null);

  /** Resolves with whether the action succeeded. */
  async run(action: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.problem = null;
    try {
      await action();
    } catch (error) {
      this.problem = asSentence(sentence(error));
    }
    this.busy = false;
    return this.problem === null;
  }
}
