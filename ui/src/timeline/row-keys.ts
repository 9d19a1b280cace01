import { TextClick } from '../kit/input';

interface RowKeys {
  /** The row in the tab order. */
  active(): number;
  count(): number;
  /** Activates a row, scrolls to it and focuses it. */
  go(index: number): void;
  /** `key` names a nested row, if one was opened. */
  open(index: number, key: string | undefined): void;
}

const STEP: Record<string, number> = {
  ArrowDown: 1,
  ArrowUp: -1,
  PageDown: 10,
  PageUp: -10,
  Home: -Infinity,
  End: Infinity,
};

/** Adds ↑ and ↓ to walk a list of rows and Enter or a click to open one, with a single tab stop. */
export function rowKeys(keys: RowKeys): (list: HTMLElement) => () => void {
  return (list) => {
    const clicked = new TextClick();

    function index(target: EventTarget | null): number {
      const row = (target as Element | null)?.closest<HTMLElement>('[data-index]');
      return row === null || row === undefined ? -1 : Number(row.dataset['index']);
    }

    /** Whether the target handles its own clicks and keys: fields, changes, output. `data-own="clicks"` passes unused keys on. */
    function own(target: EventTarget | null, keys: boolean): boolean {
      const part = (target as Element | null)?.closest<HTMLElement>('[data-own]') ?? null;
      return part !== null && !(keys && part.dataset['own'] === 'clicks');
    }

    function onkeydown(event: KeyboardEvent): void {
      const step = STEP[event.key];
      if (
        step === undefined ||
        event.metaKey ||
        event.ctrlKey ||
        event.altKey ||
        event.defaultPrevented ||
        keys.count() === 0 ||
        own(event.target, true)
      )
        return;
      event.preventDefault();
      const at = index(event.target);
      const from = at === -1 ? keys.active() : at;
      keys.go(Math.min(keys.count() - 1, Math.max(0, from + step)));
    }

    function onclick(event: MouseEvent): void {
      clicked.drop();
      const target = event.target as Element;
      const at = index(target);
      if (at === -1 || own(target, false)) return;
      const control = target.closest('a, button');
      if (control !== null && !control.hasAttribute('data-open')) return;
      const key = target.closest<HTMLElement>('[data-key]')?.dataset['key'];
      if (control !== null) keys.open(at, key);
      else clicked.take(event, () => keys.open(at, key));
    }

    list.addEventListener('keydown', onkeydown);
    list.addEventListener('click', onclick);
    return () => {
      list.removeEventListener('keydown', onkeydown);
      list.removeEventListener('click', onclick);
      clicked.drop();
    };
  };
}
