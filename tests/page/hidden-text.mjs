// Text that hides or reorders what a person reads, and the search for it on a page.

import assert from 'node:assert/strict';

/** Its end stands first, a part of it has no width, and it steers a terminal. */
export const HIDDEN = 'Tidy \u202egpj.exe\u202c\u200b \u001b[2J\u2066now\u3164';

/** Asserts that no text, tooltip or label beneath an element has an invisible character. What is only announced is not looked at. */
export async function showsAll(locator) {
  const hidden = await locator.evaluateAll((roots) => {
    const unseen = /[\p{Cc}\p{Cf}\u034f\u115f\u1160\u17b4\u17b5\u2028\u2029\u2800\u3164\uffa0]/u;
    const found = [];
    const look = (where, text) => {
      if (unseen.test(text.replace(/[\n\t]/g, ''))) found.push(`${where}: ${JSON.stringify(text)}`);
    };
    for (const root of roots) {
      for (const element of [root, ...root.querySelectorAll(':not([data-answered])')]) {
        for (const name of ['title', 'aria-label', 'placeholder', 'alt'])
          look(`${element.tagName} ${name}`, element.getAttribute(name) ?? '');
        for (const child of element.childNodes)
          if (child.nodeType === Node.TEXT_NODE) look(element.outerHTML.slice(0, 80), child.data);
      }
    }
    return found;
  });
  assert.deepEqual(hidden, []);
}
