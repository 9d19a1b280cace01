// The official TypeScript SDK's client against `openagents serve`, over every transport that it has.

import { client, methods, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';
import { createHttpStream } from '@agentclientprotocol/sdk/experimental/http-client';
import { createWebSocketStream } from '@agentclientprotocol/sdk/experimental/ws-client';
import assert from 'node:assert/strict';
import { access } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { Stage } from './stage.mjs';

const { initialize, session } = methods.agent;

/** Nothing here takes so long. */
const HANGS_MS = 60_000;

let stage;
let mode;
let server;

before(async () => {
  stage = await Stage.open();
  mode = await stage.addScriptedAgent();
  server = await stage.serve();
});

after(() => stage.close());

const TRANSPORTS = {
  WebSocket: () =>
    createWebSocketStream(`ws://127.0.0.1:${server.port}/acp`, {
      protocols: ['openagents.v1', `openagents.token.${server.token}`],
    }),
  'HTTP and events': () =>
    createHttpStream(`http://127.0.0.1:${server.port}/acp`, { headers: { Authorization: `Bearer ${server.token}` } }),
};

/** A client that keeps what it is told, and answers permissions by the kind in `decides`. */
class Peer {
  /** `session/update` frames as they came; those that the SDK took for valid end in `updates`. */
  frames = 0;
  updates = [];
  asked = [];
  taken = [];
  decides = 'allow_once';

  static async with(transport, run) {
    const peer = new Peer();
    const app = client({ name: 'conformance' })
      .onNotification(methods.client.session.update, ({ params }) => peer.#told(params))
      .onRequest(methods.client.session.requestPermission, ({ params, signal }) => peer.#decide(params, signal))
      .onNotification('*', () => {});
    await app.connectWith(peer.#counted(transport()), async (agent) => {
      peer.agent = agent;
      peer.initialized = await agent.request(initialize, {
        protocolVersion: PROTOCOL_VERSION,
        clientInfo: { name: 'conformance', version: '1.0.0' },
        clientCapabilities: {},
      });
      await run(peer);
      assert.equal(peer.updates.length, peer.frames, 'every update is valid to the SDK');
    });
  }

  #told(params) {
    this.updates.push(params);
    this.onTold?.();
  }

  /** Waits for the update that makes a condition true. */
  until(condition) {
    return new Promise((resolve, reject) => {
      const hang = setTimeout(() => reject(new Error(JSON.stringify(this.updates))), HANGS_MS);
      this.onTold = () => {
        if (!condition()) return;
        clearTimeout(hang);
        resolve();
      };
      this.onTold();
    });
  }

  #counted({ readable, writable }) {
    const count = new TransformStream({
      transform: (message, controller) => {
        if (message.method === methods.client.session.update) this.frames += 1;
        controller.enqueue(message);
      },
    });
    return { readable: readable.pipeThrough(count), writable };
  }

  async #decide(params, signal) {
    this.asked.push(params);
    this.onAsked?.();
    const chosen = params.options.find((option) => option.kind === this.decides);
    if (chosen) return { outcome: { outcome: 'selected', optionId: chosen.optionId } };
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    return { outcome: { outcome: 'cancelled' } };
  }

  async newSession(modeId) {
    const made = await this.agent.request(session.new, {
      cwd: stage.workspace,
      mcpServers: [],
      _meta: { openagents: { open: true } },
    });
    if (modeId) await this.agent.request(session.setMode, { sessionId: made.sessionId, modeId });
    return made;
  }

  prompt(sessionId, text) {
    return this.agent.request(session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
  }

  of(sessionId, kind) {
    const its = this.updates.filter((params) => params.sessionId === sessionId);
    return its.map(({ update }) => update).filter(({ sessionUpdate }) => sessionUpdate === kind);
  }

  text(sessionId) {
    return this.of(sessionId, 'agent_message_chunk')
      .map(({ content }) => content.text)
      .join('');
  }

  /** The numbers of the updates of a session, which are to have no gap. */
  numbers(sessionId) {
    const its = this.updates.filter((params) => params.sessionId === sessionId);
    return its.map(({ _meta }) => _meta.openagents.seq);
  }
}

const counted = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  describe(`the SDK over ${name}`, () => {
    test('is greeted with what we can do', () =>
      Peer.with(transport, async ({ initialized }) => {
        assert.equal(initialized.protocolVersion, PROTOCOL_VERSION);
        assert.equal(initialized.agentInfo.name, 'openagents');
        const { loadSession, sessionCapabilities } = initialized.agentCapabilities;
        assert.ok(loadSession);
        for (const capability of ['list', 'resume', 'close', 'delete']) {
          assert.ok(sessionCapabilities[capability], capability);
        }
      }));

    test('sees an exploration as a plan, tool calls and an answer', () =>
      Peer.with(transport, async (peer) => {
        const { sessionId } = await peer.agent.request('_openagents/explore', { root: stage.workspace });
        await peer.until(() => /\*\*Repository:\*\* proj/.test(peer.text(sessionId)));
        const plan = peer.of(sessionId, 'plan').at(-1);
        assert.ok(plan.entries.length > 0 && plan.entries.every(({ status }) => status === 'completed'));
        const calls = peer.of(sessionId, 'tool_call').map(({ toolCallId }) => toolCallId);
        const ended = peer.of(sessionId, 'tool_call_update').filter(({ status }) => status === 'completed');
        assert.deepEqual(ended.map(({ toolCallId }) => toolCallId).sort(), [...calls].sort());
        assert.deepEqual(peer.numbers(sessionId), counted(1, peer.numbers(sessionId).length));
      }));

    test('gets what is found for a question', () =>
      Peer.with(transport, async (peer) => {
        const { sessionId, modes } = await peer.newSession();
        assert.equal(modes.currentModeId, 'default_mode');
        const { stopReason } = await peer.prompt(sessionId, 'What does this project do?');
        assert.equal(stopReason, 'end_turn');
        assert.match(peer.text(sessionId), /^[^*\n]+ \(`README\.md:\d+/);
      }));

    test('allows and denies what an agent asks for', () =>
      Peer.with(transport, async (peer) => {
        for (const [decides, written] of [['reject_once', false], ['allow_once', true]]) {
          peer.decides = decides;
          const { sessionId } = await peer.newSession(mode);
          const file = `${decides}-${name.length}.txt`;
          const { stopReason } = await peer.prompt(sessionId, `[[edit ${file}]]`);
          assert.equal(stopReason, 'end_turn', decides);
          const { toolCall, options } = peer.asked.at(-1);
          assert.ok(toolCall.toolCallId && options.length >= 2);
          const is = await access(`${stage.workspace}/${file}`).then(() => true, () => false);
          assert.equal(is, written, decides);
        }
      }));

    test('cancels a turn, and what it was asked is taken back', () =>
      Peer.with(transport, async (peer) => {
        const { sessionId } = await peer.newSession(mode);
        peer.decides = 'nothing';
        const asked = new Promise((resolve) => (peer.onAsked = resolve));
        const turn = peer.prompt(sessionId, '[[edit never.txt]]');
        await asked;
        await peer.agent.notify(session.cancel, { sessionId });
        assert.equal((await turn).stopReason, 'cancelled');
        const words = peer.prompt(sessionId, '[[words 100000]]');
        while (!peer.text(sessionId)) await new Promise((resolve) => setTimeout(resolve, 10));
        await peer.agent.notify(session.cancel, { sessionId });
        assert.equal((await words).stopReason, 'cancelled');
        assert.equal((await peer.prompt(sessionId, '[[say Still here.]]')).stopReason, 'end_turn');
      }));

    test('finds a session again: lists, loads, resumes, closes and deletes it', async () => {
      let sessionId;
      let told;
      await Peer.with(transport, async (peer) => {
        ({ sessionId } = await peer.newSession(mode));
        await peer.prompt(sessionId, '[[call Look]] [[say Found it.]]');
        told = peer.numbers(sessionId).length;
      });
      await Peer.with(transport, async (peer) => {
        const { sessions } = await peer.agent.request(session.list, { cwd: stage.workspace });
        const row = sessions.find((row) => row.sessionId === sessionId);
        assert.equal(row.cwd, stage.workspace);
        assert.ok(row.title && !Number.isNaN(Date.parse(row.updatedAt)));
        const loaded = await peer.agent.request(session.load, { sessionId, cwd: stage.workspace, mcpServers: [] });
        assert.equal(loaded.modes.currentModeId, mode);
        assert.match(peer.text(sessionId), /Found it\./);
        assert.deepEqual(peer.numbers(sessionId), counted(1, told));
      });
      await Peer.with(transport, async (peer) => {
        await peer.agent.request(session.resume, { sessionId, cwd: stage.workspace, mcpServers: [] });
        await peer.prompt(sessionId, '[[say And on.]]');
        assert.doesNotMatch(peer.text(sessionId), /Found it\./, 'nothing old is told again');
        assert.match(peer.text(sessionId), /And on\./);
        assert.deepEqual(peer.numbers(sessionId), counted(told + 1, told + peer.numbers(sessionId).length));
        await peer.agent.request(session.close, { sessionId });
        await peer.agent.request(session.delete, { sessionId });
        const { sessions } = await peer.agent.request(session.list, {});
        assert.ok(sessions.every((row) => row.sessionId !== sessionId));
        const gone = peer.agent.request(session.load, { sessionId, cwd: stage.workspace, mcpServers: [] });
        await assert.rejects(gone, { code: -32002 });
      });
    });

    test('is refused in words where it asks for what there is not', () =>
      Peer.with(transport, async (peer) => {
        const { sessionId } = await peer.newSession();
        const rows = [
          [session.prompt, { sessionId: 'none', prompt: [{ type: 'text', text: 'x' }] }, -32002],
          [session.prompt, { sessionId, prompt: [] }, -32602],
          [session.setMode, { sessionId, modeId: 'none' }, -32602],
          ['nobody/knows', {}, -32601],
        ];
        for (const [method, params, code] of rows) {
          await assert.rejects(peer.agent.request(method, params), { code }, method);
        }
      }));
  });
}
