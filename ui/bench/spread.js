// `make bench-page`, fourth part: one session on two pages, a phone page and an ACP editor. How long after the first of them
// the last one has a change of an option, a question and its answer.

import { spawn } from 'node:child_process';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { AgentsStage } from '../../tests/page/agents-stage.mjs';
import { launch } from '../../tests/page/browser.mjs';
import { PROGRAM } from '../../tests/page/server.mjs';

const ROUNDS = 20;

/** An editor: an ACP client on the standard streams of `openagents acp`. */
class Editor {
  #child;
  #id = 0;
  #answers = new Map();
  /** Resolves the wait for a frame. */
  #waits = [];

  constructor({ home, base }) {
    const env = { ...process.env, OPENAGENTS_HOME: home, HOME: base };
    this.#child = spawn(PROGRAM, ['acp'], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const [frame, at] = [JSON.parse(line), Date.now()];
      this.#answers.get(frame.id)?.(frame);
      this.#waits = this.#waits.filter(({ is, resolve }) => {
        if (is(frame)) resolve(at);
        return !is(frame);
      });
    });
  }

  request(method, params) {
    const id = (this.#id += 1);
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return new Promise((resolve, reject) =>
      this.#answers.set(id, ({ result, error }) => (error === undefined ? resolve(result) : reject(error))),
    );
  }

  /** Resolves with the time of the first frame for which `is` holds. */
  frame(is) {
    return new Promise((resolve) => this.#waits.push({ is, resolve }));
  }

  end() {
    this.#child.kill();
  }
}

/** Resolves with the time at which a page first shows an element, or no longer does. */
function shows({ page }, selector, isThere = true) {
  return page.evaluate(
    ([wanted, there]) =>
      new Promise((resolve) => {
        const look = () => {
          if ((document.querySelector(wanted) !== null) !== there) return;
          watch.disconnect();
          resolve(Date.now());
        };
        const watch = new MutationObserver(look);
        watch.observe(document.body, { subtree: true, childList: true, attributes: true });
        look();
      }),
    [selector, isThere],
  );
}

function report(what, spreads) {
  const sorted = spreads.toSorted((one, other) => one - other);
  const [median, last] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  process.stdout.write(`${what.padEnd(46)} median ${median} ms, at most ${last} ms, of ${sorted.length}\n`);
}

const spreadOf = (times) => Math.max(...times) - Math.min(...times);

const [stage, browser] = await Promise.all([AgentsStage.set(), launch()]);
let editor;
try {
  const one = await stage.open(browser);
  await stage.addFake(one);
  await stage.ask(one, '[[say Hello.]]');
  await one.page.locator('[data-option="custom:fake/mode"]').first().waitFor();
  const two = await stage.follow(browser, one);
  const phone = await stage.follow(browser, one, { size: 'phone' });
  const pages = [one, two, phone];
  editor = new Editor(stage.fixture);
  await editor.request('initialize', {
    protocolVersion: 1,
    clientCapabilities: { elicitation: { form: {} } },
    clientInfo: { name: 'editor', version: '1' },
  });
  const { sessions } = await editor.request('session/list', { cwd: stage.fixture.workspace });
  const [{ sessionId }] = sessions;
  await editor.request('session/load', { sessionId, cwd: stage.fixture.workspace, mcpServers: [] });

  const options = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [value, name] = round % 2 === 0 ? ['plan', 'Plan'] : ['ask', 'Ask first'];
    const seen = [
      ...pages.map((tab) => shows(tab, `[data-option="custom:fake/mode"][aria-label*="${name}"]`)),
      editor.frame(({ params }) =>
        params?.update?.configOptions?.some(({ id, currentValue }) => id.endsWith('/mode') && currentValue === value),
      ),
    ];
    const params = { sessionId, configId: 'custom:fake/mode', value };
    await editor.request('session/set_config_option', params);
    options.push(spreadOf(await Promise.all(seen)));
  }
  report('an option, on three pages and an editor', options);

  const [questions, answers] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    let asked;
    const seen = [
      ...pages.map((tab) => shows(tab, '[data-question]')),
      editor.frame((frame) => {
        if (frame.method === 'elicitation/create') asked = frame;
        return frame.method === 'elicitation/create';
      }),
    ];
    const turn = editor.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: '[[form]]' }] });
    questions.push(spreadOf(await Promise.all(seen)));
    const gone = [
      ...pages.map((tab) => shows(tab, '[data-question]', false)),
      editor.frame(({ method, params }) => method === '$/cancel_request' && params.requestId === asked.id),
    ];
    await one.page.getByRole('radio', { name: 'SQLite' }).last().check();
    await one.page.getByRole('button', { name: 'Answer' }).last().click();
    answers.push(spreadOf(await Promise.all(gone)));
    await turn;
  }
  report('a question', questions);
  report('its answer', answers);
} finally {
  editor?.end();
  await browser.close();
  await stage.strike();
}
