/** The visible share that counts as the whole piece, because sizes are rounded. */
const WHOLE = 0.98;

/** Tracks whether everything that needs a decision has been on screen. */
export class Sight {
  /** Everything has been on screen. */
  complete = $state(true);
  /** Something cannot be shown at all. */
  cut = $state(false);
  readonly #unseen = new Set<Element>();
  readonly #missing = new Set<Element>();
  #observer: IntersectionObserver | undefined;

  /** For an element that must be seen in full and fits on any screen. */
  readonly piece = (element: Element): (() => void) => {
    this.#unseen.add(element);
    this.#notify();
    const observer = (this.#observer ??= new IntersectionObserver((crossings) => this.#crossed(crossings), {
      threshold: WHOLE,
    }));
    observer.observe(element);
    return () => {
      observer.unobserve(element);
      this.#unseen.delete(element);
      this.#notify();
    };
  };

  /** For a placeholder of hidden content. */
  readonly missing = (element: Element): (() => void) => {
    this.#missing.add(element);
    this.#notify();
    return () => {
      this.#missing.delete(element);
      this.#notify();
    };
  };

  #crossed(crossings: readonly IntersectionObserverEntry[]): void {
    for (const { intersectionRatio, target } of crossings) if (intersectionRatio >= WHOLE) this.#unseen.delete(target);
    this.#notify();
  }

  #notify(): void {
    // Untracked: an attachment must not depend on it.
    this.cut = this.#missing.size > 0;
    this.complete = this.#missing.size + this.#unseen.size === 0;
  }
}
