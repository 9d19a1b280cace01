/**
 * Whether a key belongs to an input method, which is composing a word: Enter picks a candidate, Escape drops it. WebKit
 * ends the composition before it reports the Enter that did so, and marks that key by its code alone.
 */
function composing(event: KeyboardEvent): boolean {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- WebKit marks the key in no other way
  return event.isComposing || event.keyCode === 229;
}

/**
 * Hides the keys of an input method from every handler of the page, those of libraries included. The input method still
 * gets them. Call it before any other listener is added to the window.
 */
export function hideComposing(window: EventTarget): void {
  window.addEventListener(
    'keydown',
    (event) => {
      if (!composing(event as KeyboardEvent)) return;
      event.stopImmediatePropagation();
      // Closes the dialog around the field otherwise.
      if ((event as KeyboardEvent).key === 'Escape') event.preventDefault();
    },
    { capture: true },
  );
}

/** A form's `onsubmit` that runs `action` and stays on the page. */
export const submits =
  (action: () => unknown) =>
  (event: SubmitEvent): void => {
    event.preventDefault();
    void action();
  };

/** Milliseconds in which a second click makes a double click. The systems have 400 to 500. */
const DOUBLE = 500;

/** Handles clicks on selectable text: a double click or a drag opens nothing. */
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

  /** Cancels a pending click. */
  drop(): void {
    clearTimeout(this.#waiting);
  }
}
