/** The part of a piece that counts as all of it: sizes are rounded. */
const WHOLE = 0.98;

/** Knows when everything that a person decides about has been on screen. */
export class Sight {
  /** Everything has been on screen. */
  complete = $state(true);
  /** Something is not shown, and never will be. */
  cut = $state(false);
  readonly #unseen = new Set<Element>();
  readonly #missing = new Set<Element>();
  #observer: IntersectionObserver | undefined;

  /** Attach it to an element that has to be seen as a whole, hence fits on any screen. */
  readonly piece = (element: Element): (() => void) => {
    this.#unseen.add(element);
    this.#tell();
    const observer = (this.#observer ??= new IntersectionObserver((crossings) => this.#crossed(crossings), {
      threshold: WHOLE,
    }));
    observer.observe(element);
    return () => {
      observer.unobserve(element);
      this.#unseen.delete(element);
      this.#tell();
    };
  };

  /** Attach it to an element that stands for what is not shown. */
  readonly missing = (element: Element): (() => void) => {
    this.#missing.add(element);
    this.#tell();
    return () => {
      this.#missing.delete(element);
      this.#tell();
    };
  };

  #crossed(crossings: readonly IntersectionObserverEntry[]): void {
    for (const { intersectionRatio, target } of crossings) if (intersectionRatio >= WHOLE) this.#unseen.delete(target);
    this.#tell();
  }

  #tell(): void {
    // Nothing is read here that an attachment would then depend on.
    this.cut = this.#missing.size > 0;
    this.complete = this.#missing.size + this.#unseen.size === 0;
  }
}
