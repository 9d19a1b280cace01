// What `main.js` measures, in the browser.

import { flushSync, mount } from 'svelte';
import '../src/theme/tokens.css';
import '../src/kit/base.css';
import '../src/kit/layout.css';
import '../src/kit/text.css';
import '../src/kit/looks.css';
import { Session } from '../src/session/session.svelte';
import { screen } from '../src/terminal/screen';
import Answer from './Answer.svelte';
import Output from './Output.svelte';

const UPDATES = 30;
/** Words of a paragraph. */
const BLOCK = 40;

/** Milliseconds per update of a terminal whose output is one line of `length` characters. */
export function terminal(length) {
  const line = 'function(a,b){return a+b};'.repeat(length).slice(0, length);
  const output = (n) => `${line.slice(String(n).length)}${n}`;
  const each = (act) => {
    const begun = performance.now();
    for (let n = 0; n < UPDATES; n += 1) act(output(n));
    return (performance.now() - begun) / UPDATES;
  };
  const spoken = each((text) => screen(text));
  const plain = each((text) => text.split('\n').join('\n').replaceAll('\r', ''));
  const shown = mount(Output, { target: document.body });
  const page = each((text) => {
    shown.show(text);
    flushSync();
    drawn();
  });
  document.body.replaceChildren();
  const pre = document.body.appendChild(document.createElement('pre'));
  const browser = each((text) => {
    pre.textContent = text;
    drawn();
  });
  return { screen: spoken, plain, page, browser };
}

/** Milliseconds for an answer that comes in so many chunks, each of them drawn. */
export async function answer(chunks) {
  const text = (n) => `word ${n} of an answer${n % BLOCK === BLOCK - 1 ? '.\n\n' : ' '}`;
  const update = (n) => ({
    params: {
      sessionId: 's',
      update: { sessionUpdate: 'agent_message_chunk', messageId: 'm', content: { type: 'text', text: text(n) } },
    },
    seq: n + 1,
    ts: n,
    bytes: 200,
  });
  const timed = async (act) => {
    const begun = performance.now();
    for (let n = 0; n < chunks; n += 1) {
      act(n);
      // Answers of the bridge arrive in between.
      if (n % 8 === 0) await new Promise((after) => queueMicrotask(after));
    }
    return performance.now() - begun;
  };
  const folded = new Session('s');
  const fold = await timed((n) => folded.take([update(n)]));

  const session = new Session('s');
  mount(Answer, { target: document.body, props: { session } });
  const page = await timed((n) => {
    session.take([update(n)]);
    flushSync();
    drawn();
  });
  document.body.replaceChildren();
  // A paragraph for each block: the browser lays out the whole of one paragraph for each word.
  let node = null;
  const browser = await timed((n) => {
    if (n % BLOCK === 0)
      node = document.body.appendChild(document.createElement('p')).appendChild(document.createTextNode(''));
    node.appendData(text(n));
    drawn();
  });
  return { fold, page, browser };
}

/** Lays the page out, as before the next frame. */
function drawn() {
  return document.body.offsetHeight;
}
