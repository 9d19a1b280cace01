/** Where a finger is, and when: pixels and milliseconds. */
export interface Touched {
  x: number;
  y: number;
  at: number;
}

/** A sheet at the left edge is drawn in by a finger that begins this close to it. */
const EDGE = 28;
/** So far a finger goes before it is clear where to. */
const SLOP = 8;
/** Faster than this is a flick: it counts by its direction, not by how far it came. In pixels a millisecond. */
const FLICK = 0.35;

/** A finger that draws a sheet in from the left edge, or pushes it back out. */
export class Swipe {
  readonly #open: boolean;
  readonly #width: number;
  readonly #from: Touched;
  #last: Touched;
  #speed = 0;
  #horizontal: boolean | null = null;

  /** Returns null where the touch is none of it. */
  static begin(from: Touched, open: boolean, width: number): Swipe | null {
    return open || from.x <= EDGE ? new Swipe(from, open, width) : null;
  }

  private constructor(from: Touched, open: boolean, width: number) {
    this.#from = from;
    this.#last = from;
    this.#open = open;
    this.#width = width;
  }

  /** Returns how much of the sheet is in, from 0 to 1; null while that is not clear, or when the finger goes up or down. */
  move(to: Touched): number | null {
    const [dx, dy] = [to.x - this.#from.x, to.y - this.#from.y];
    if (this.#horizontal === null && Math.hypot(dx, dy) >= SLOP) this.#horizontal = Math.abs(dx) > Math.abs(dy);
    if (this.#horizontal !== true) return null;
    if (to.at > this.#last.at) this.#speed = (to.x - this.#last.x) / (to.at - this.#last.at);
    this.#last = to;
    return this.#share();
  }

  /** The finger is gone: whether the sheet is in now. */
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
