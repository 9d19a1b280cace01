/** A touch position in pixels, at a time in milliseconds. */
export interface Touched {
  x: number;
  y: number;
  at: number;
}

/** Pixels from the left edge within which a touch can pull in the drawer. */
const EDGE = 28;
/** Pixels of movement after which the direction is clear. */
const SLOP = 8;
/** Speed in pixels per millisecond from which direction counts instead of distance. */
const FLICK = 0.35;

/** A swipe that pulls a drawer in from the left edge or pushes it back out. */
export class Swipe {
  readonly #open: boolean;
  readonly #width: number;
  readonly #from: Touched;
  #last: Touched;
  #speed = 0;
  #horizontal: boolean | null = null;

  /** Returns null if the touch cannot become a swipe. */
  static begin(from: Touched, open: boolean, width: number): Swipe | null {
    return open || from.x <= EDGE ? new Swipe(from, open, width) : null;
  }

  private constructor(from: Touched, open: boolean, width: number) {
    this.#from = from;
    this.#last = from;
    this.#open = open;
    this.#width = width;
  }

  /** Returns the visible fraction of the drawer, 0 to 1; null while the direction is unclear or if it is vertical. */
  move(to: Touched): number | null {
    const [dx, dy] = [to.x - this.#from.x, to.y - this.#from.y];
    if (this.#horizontal === null && Math.hypot(dx, dy) >= SLOP) this.#horizontal = Math.abs(dx) > Math.abs(dy);
    if (this.#horizontal !== true) return null;
    if (to.at > this.#last.at) this.#speed = (to.x - this.#last.x) / (to.at - this.#last.at);
    this.#last = to;
    return this.#share();
  }

  /** Returns whether the drawer is open once the finger is lifted. */
  end(): boolean {
    if (this.#horizontal !== true) return this.#open;
    if (Math.abs(this.#speed) >= FLICK) return this.#speed > 0;
    return this.#share() >= 0.5;
  }

  #share(): number {
    const share = (this.#open ? 1 : 0) + (this.#last.x - this.#from.x) / this.#width;
    return Math.min(1, Math.max(0, share));
  }
}
