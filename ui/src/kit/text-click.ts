/** Milliseconds in which a second click makes a double click. The systems have 400 to 500. */
const DOUBLE = 500;

/** Clicks on text that may be selected: neither a double click nor a drag is meant to open anything. */
export class TextClick {
  #waiting: ReturnType<typeof setTimeout> | undefined;

  /** Runs `open` for a click, unless it selects text. */
  take({ detail }: Pick<MouseEvent, 'detail'>, open: () => void): void {
    this.drop();
    const unlessSelected = (): void => {
      if (getSelection()?.isCollapsed !== false) open();
    };
    // A finger selects text by a long press.
    if (!matchMedia('(hover: hover)').matches) unlessSelected();
    else if (detail <= 1) this.#waiting = setTimeout(unlessSelected, DOUBLE);
  }

  /** Forgets a click that is waiting. */
  drop(): void {
    clearTimeout(this.#waiting);
  }
}
