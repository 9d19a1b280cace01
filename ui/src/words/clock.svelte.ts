import { createSubscriber } from 'svelte/reactivity';

/** The time, ticking only while something on screen reads it. */
export class Clock {
  readonly #watch: () => void;

  /** `step`: milliseconds between two ticks. */
  constructor(step: number) {
    this.#watch = createSubscriber((ticked) => {
      const timer = setInterval(ticked, step);
      return () => clearInterval(timer);
    });
  }

  /** Milliseconds since the epoch. */
  get now(): number {
    this.#watch();
    return Date.now();
  }
}
