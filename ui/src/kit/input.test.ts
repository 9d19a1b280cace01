import { expect, test } from 'vitest';
import { hideComposing } from './input';

/** Whether the page hears of a key, and whether the browser's default still happens. */
function press(key: string, more: object): [boolean, boolean] {
  const target = new EventTarget();
  hideComposing(target);
  let heard = false;
  target.addEventListener('keydown', () => (heard = true), { capture: true });
  const event = Object.assign(new Event('keydown', { cancelable: true }), {
    key,
    isComposing: false,
    keyCode: 0,
    ...more,
  });
  const happens = target.dispatchEvent(event);
  return [heard, happens];
}

test.each([
  ['Enter', { keyCode: 13 }, [true, true]],
  ['Escape', { keyCode: 27 }, [true, true]],
  ['Enter', { isComposing: true, keyCode: 229 }, [false, true]],
  ['Enter', { keyCode: 229 }, [false, true]],
  ['ArrowDown', { keyCode: 229 }, [false, true]],
  ['Escape', { isComposing: true, keyCode: 229 }, [false, false]],
  ['Escape', { keyCode: 229 }, [false, false]],
])('%s %j', (key, more, expected) => expect(press(key, more)).toEqual(expected));
