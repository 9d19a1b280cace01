import { SvelteMap } from 'svelte/reactivity';

/** What is unfolded in a list whose rows leave the page when they are scrolled away. */
export class Unfolded {
  readonly #states = new SvelteMap<string, boolean>();

  /** The state that was chosen for a part; `otherwise` if none was. */
  get(part: string, otherwise: boolean): boolean {
    return this.#states.get(part) ?? otherwise;
  }

  set(part: string, open: boolean): void {
    this.#states.set(part, open);
  }
}
