import { SvelteMap } from 'svelte/reactivity';

/** The fold state of a virtual list's rows, which unmount when scrolled away. */
export class Unfolded {
  readonly #states = new SvelteMap<string, boolean>();

  /** The chosen state of a part, or `otherwise`. */
  get(part: string, otherwise: boolean): boolean {
    return this.#states.get(part) ?? otherwise;
  }

  set(part: string, open: boolean): void {
    this.#states.set(part, open);
  }
}
