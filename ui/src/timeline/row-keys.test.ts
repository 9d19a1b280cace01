import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { rowKeys } from './row-keys';

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** A list with one row, and the rows that it opened. `selected`: text is selected. */
function list({ mouse = true } = {}): {
  opened: number[];
  click: (detail: number, on?: 'text' | 'button', selected?: boolean) => void;
  leave: () => void;
} {
  const opened: number[] = [];
  const heard = new Map<string, (event: unknown) => void>();
  let selection = { isCollapsed: true };
  vi.stubGlobal('getSelection', () => selection);
  vi.stubGlobal('matchMedia', () => ({ matches: mouse }));
  const node = {
    addEventListener: (name: string, listener: (event: unknown) => void) => heard.set(name, listener),
    removeEventListener: (name: string) => heard.delete(name),
  };
  const leave = rowKeys({ active: () => 0, count: () => 1, go: () => undefined, open: (at) => opened.push(at) })(
    node as unknown as HTMLElement,
  );
  return {
    opened,
    leave,
    click(detail, on = 'text', selected = false) {
      selection = { isCollapsed: !selected };
      const found: Record<string, unknown> = {
        '[data-index]': { dataset: { index: '0' } },
        'a, button': on === 'button' ? { hasAttribute: () => true } : null,
      };
      heard.get('click')?.({ detail, target: { closest: (selector: string) => found[selector] ?? null } });
    },
  };
}

test('a double click on a word opens nothing', () => {
  const { opened, click } = list();
  click(1);
  click(2, 'text', true);
  vi.runAllTimers();
  expect(opened).toEqual([]);
});

test('a single click on text opens its row', () => {
  const { opened, click } = list();
  click(1);
  vi.runAllTimers();
  expect(opened).toEqual([0]);
});

test('buttons and taps open the row at once', () => {
  const mouse = list();
  mouse.click(1, 'button');
  const finger = list({ mouse: false });
  finger.click(1);
  expect([mouse.opened, finger.opened]).toEqual([[0], [0]]);
});

test('a removed list opens nothing', () => {
  const { opened, click, leave } = list();
  click(1);
  leave();
  vi.runAllTimers();
  expect(opened).toEqual([]);
});
