export interface RowKeys {
  /** The row that Tab reaches. */
  active(): number;
  count(): number;
  /** Makes a row the active one, scrolls to it and moves the focus there. */
  go(index: number): void;
  /** `key` names a row inside the row, where one was opened. */
  open(index: number, key: string | undefined): void;
}

const STEP: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };

/** Lets a list of rows be walked by ↑ and ↓ and opened by Enter or a click, without a tab stop for each row. */
export function rowKeys(keys: RowKeys): (list: HTMLElement) => () => void {
  return (list) => {
    function index(target: EventTarget | null): number {
      const row = (target as Element | null)?.closest<HTMLElement>('[data-index]');
      return row === null || row === undefined ? -1 : Number(row.dataset['index']);
    }

    /** Parts of a row with clicks and keys of their own: fields, changes, output. `data-own="clicks"` leaves keys that it has no use for. */
    function own(target: EventTarget | null, keys: boolean): boolean {
      const part = (target as Element | null)?.closest<HTMLElement>('[data-own]') ?? null;
      return part !== null && !(keys && part.dataset['own'] === 'clicks');
    }

    function onkeydown(event: KeyboardEvent): void {
      const step = STEP[event.key];
      if (step === undefined || event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented || keys.count() === 0 || own(event.target, true)) return;
      event.preventDefault();
      const at = index(event.target);
      const from = at === -1 ? keys.active() : at;
      keys.go(Math.min(keys.count() - 1, Math.max(0, from + step)));
    }

    function onclick(event: MouseEvent): void {
      const target = event.target as Element;
      const at = index(target);
      if (at === -1 || own(target, false)) return;
      const control = target.closest('a, button');
      if (control !== null && !control.hasAttribute('data-open')) return;
      // A drag that selects text ends in a click as well.
      if (control === null && getSelection()?.isCollapsed === false) return;
      keys.open(at, target.closest<HTMLElement>('[data-key]')?.dataset['key']);
    }

    list.addEventListener('keydown', onkeydown);
    list.addEventListener('click', onclick);
    return () => {
      list.removeEventListener('keydown', onkeydown);
      list.removeEventListener('click', onclick);
    };
  };
}
