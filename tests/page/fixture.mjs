// A workspace with some code and the histories of two agents that worked there.

import { mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The request of the newest session in the workspace, which becomes the exploration's summary sentence. */
export const WISH = 'Finish QR pairing so that a phone can approve commands';

const FILES = {
  'README.md': '# Harbour\n\nHarbour lets a phone approve what an agent wants to do.\n',
  'Cargo.toml': '[package]\nname = "harbour"\nversion = "0.1.0"\nedition = "2024"\n',
  'src/lib.rs': '//! Approvals.\n\npub mod pair;\n',
  'src/pair.rs':
    '/// Pairs a phone.\n// TODO: expire the code after five minutes\npub fn pair(code: &str) -> bool {\n    !code.is_empty()\n}\n',
  'tests/pairing.rs': '#[test]\nfn pairing() {\n    assert!(harbour::pair::pair("123456"));\n}\n',
};

export class Fixture {
  /** `name` is that of the workspace. */
  static async create(name = 'harbour') {
    const fixture = new Fixture();
    fixture.base = await mkdtemp(join(tmpdir(), 'openagents-page-'));
    fixture.workspace = join(fixture.base, name);
    fixture.home = join(fixture.base, 'home');
    fixture.codex = join(fixture.base, 'codex');
    fixture.claude = join(fixture.base, 'claude');
    for (const [path, text] of Object.entries(FILES)) await write(join(fixture.workspace, path), text);
    await mkdir(fixture.home, { recursive: true });
    await fixture.#codexSession('0199a2b4-1111-7000-8000-000000000001', 2, WISH, 'src/pair.rs');
    await fixture.#codexSession(
      '0199a2b4-1111-7000-8000-000000000002',
      50,
      'Fix the flaky reconnect test',
      'tests/pairing.rs',
    );
    await fixture.#claudeSession(
      '6f1b1f2e-2222-4000-8000-000000000003',
      80,
      'Write the first draft of QR pairing',
      'src/pair.rs',
    );
    return fixture;
  }

  /** Adds past sessions that take a while to read, so that an exploration can be stopped before its end. */
  async slow() {
    for (let n = 100; n < 112; n += 1) {
      await this.#codexSession(`0199a2b4-1111-7000-8000-000000000${n}`, 1, WISH, 'src/pair.rs', 12_000);
    }
    return this;
  }

  /** Adds a session of Codex that changed a file. Returns its log's path. */
  codexSession(id, hoursAgo, prompt, file) {
    return this.#codexSession(id, hoursAgo, prompt, file);
  }

  /** Adds a session of Claude Code with many turns, some of a few lines and some long. Returns its file. */
  async long(id, turns) {
    const path = join(this.claude, 'projects', this.workspace.replaceAll(/[^A-Za-z0-9]/g, '-'), `${id}.jsonl`);
    const lines = Array.from({ length: turns }, (_, at) => this.turn(id, at + 1));
    await write(path, lines.join(''), new Date());
    return path;
  }

  /** Adds a session of Claude Code whose second turn was undone, and a branch of it. */
  async rewound(id, branch) {
    const projects = join(this.claude, 'projects', this.workspace.replaceAll(/[^A-Za-z0-9]/g, '-'));
    const at = (minute) => new Date(Date.now() - 7_200_000 + minute * 60_000).toISOString();
    const common = (session, uuid, parentUuid, minute) => ({
      sessionId: session,
      cwd: this.workspace,
      uuid,
      parentUuid,
      isSidechain: false,
      timestamp: at(minute),
    });
    const said = (session, uuid, parent, minute, content) => ({
      ...common(session, uuid, parent, minute),
      type: 'user',
      message: { role: 'user', content },
    });
    const answered = (session, uuid, parent, minute, text) => ({
      ...common(session, uuid, parent, minute),
      type: 'assistant',
      message: { id: uuid, role: 'assistant', model: 'claude-opus-5', content: [{ type: 'text', text }] },
    });
    const first = (session) => [
      said(session, 'w1', null, 0, 'How is the session token stored?'),
      answered(session, 'w2', 'w1', 1, 'In a cookie.'),
    ];
    const text = (lines) => `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    await write(
      join(projects, `${id}.jsonl`),
      text([
        ...first(id),
        said(id, 'w3', 'w2', 2, 'Move it to local storage'),
        answered(id, 'w4', 'w3', 3, 'Moved to local storage.'),
        said(id, 'w5', 'w2', 4, 'Leave it, and only shorten its life'),
        answered(id, 'w6', 'w5', 5, 'It lives for one hour now.'),
      ]),
    );
    const copies = first(branch).map((line) => ({ ...line, forkedFrom: { sessionId: id, messageUuid: line.uuid } }));
    await write(
      join(projects, `${branch}.jsonl`),
      text([...copies, said(branch, 'v3', 'w2', 6, 'Try a header instead')]),
    );
  }

  /** Adds a session with record types that OpenAgents does not know. */
  async unheardOf(id) {
    const projects = join(this.claude, 'projects', this.workspace.replaceAll(/[^A-Za-z0-9]/g, '-'));
    const common = {
      sessionId: id,
      cwd: this.workspace,
      version: '9.9.0',
      timestamp: new Date(Date.now() - 1_800_000).toISOString(),
    };
    const lines = [
      {
        ...common,
        type: 'user',
        uuid: 'r1',
        parentUuid: null,
        message: { role: 'user', content: 'What did we decide about retries?' },
      },
      { ...common, type: 'recap', uuid: 'r2', parentUuid: 'r1', text: 'Retries wait one second more each time.' },
    ];
    await write(join(projects, `${id}.jsonl`), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
  }

  /** Adds a session of Claude Code that started a sub-agent, with the log of that. */
  async subagent(id, agent) {
    const projects = join(this.claude, 'projects', this.workspace.replaceAll(/[^A-Za-z0-9]/g, '-'));
    const common = {
      sessionId: id,
      cwd: this.workspace,
      gitBranch: 'main',
      timestamp: new Date(Date.now() - 3_600_000).toISOString(),
    };
    const said = (side, content) => ({
      ...common,
      isSidechain: side,
      type: 'user',
      message: { role: 'user', content },
    });
    const answered = (side, messageId, content) => ({
      ...common,
      isSidechain: side,
      type: 'assistant',
      message: { id: messageId, role: 'assistant', model: 'claude-sonnet-4-5', content: [content] },
    });
    const ended = (callId, content) => [{ type: 'tool_result', tool_use_id: callId, content }];
    const text = (lines) => `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    await write(
      join(projects, `${id}.jsonl`),
      text([
        said(false, 'Ask a helper to look around'),
        answered(false, 'm1', {
          type: 'tool_use',
          id: 'toolu_task',
          name: 'Agent',
          input: { description: 'Look around', prompt: 'Look around and report.' },
        }),
        {
          ...said(false, ended('toolu_task', 'It listed the folder.')),
          toolUseResult: { status: 'completed', agentId: agent },
        },
        answered(false, 'm2', { type: 'text', text: 'The helper has answered.' }),
      ]),
    );
    await write(
      join(projects, id, 'subagents', `agent-${agent}.jsonl`),
      text([
        { ...said(true, 'Look around and report.'), agentId: agent },
        {
          ...answered(true, 'm3', { type: 'tool_use', id: 'toolu_ls', name: 'Bash', input: { command: 'ls src' } }),
          agentId: agent,
        },
        { ...said(true, ended('toolu_ls', 'lib.rs pair.rs')), agentId: agent },
        { ...answered(true, 'm4', { type: 'text', text: 'There are two files.' }), agentId: agent },
      ]),
    );
  }

  /** The two lines of a turn. */
  turn(id, number) {
    const common = {
      sessionId: id,
      cwd: this.workspace,
      gitBranch: 'main',
      isSidechain: false,
      timestamp: new Date(1_790_000_000_000 + number * 60_000).toISOString(),
    };
    const said = { ...common, type: 'user', message: { role: 'user', content: `Question ${number}` } };
    const text = `Answer ${number}. ${'It is as it is. '.repeat((number * 37) % 120)}`;
    const answered = {
      ...common,
      type: 'assistant',
      message: { id: `m${number}`, role: 'assistant', model: 'claude-sonnet-4-5', content: [{ type: 'text', text }] },
    };
    return `${JSON.stringify(said)}\n${JSON.stringify(answered)}\n`;
  }

  remove() {
    return rm(this.base, { recursive: true, force: true });
  }

  async #codexSession(id, hoursAgo, prompt, file, turns = 1) {
    const time = new Date(Date.now() - hoursAgo * 3_600_000);
    const stamp = time.toISOString();
    const line = (type, payload) => JSON.stringify({ timestamp: stamp, type, payload });
    const turn = [
      line('turn_context', {
        cwd: this.workspace,
        model: 'gpt-5-codex',
        approval_policy: 'on-request',
        sandbox_policy: { mode: 'workspace-write' },
      }),
      line('event_msg', { type: 'user_message', message: prompt, kind: 'plain' }),
      line('response_item', {
        type: 'function_call',
        name: 'shell',
        arguments: JSON.stringify({ command: ['cat', file] }),
        call_id: 'call_1',
      }),
      line('event_msg', {
        type: 'patch_apply_end',
        call_id: 'call_2',
        success: true,
        changes: { [file]: { type: 'update', unified_diff: '@@' } },
      }),
      line('event_msg', { type: 'agent_message', message: `The pairing work in ${file} goes on.` }),
    ].join('\n');
    const meta = line('session_meta', {
      id,
      timestamp: stamp,
      cwd: this.workspace,
      originator: 'codex_cli_rs',
      cli_version: '0.98.0',
      source: 'cli',
      model_provider: 'openai',
    });
    const day = stamp.slice(0, 10).split('-');
    const path = join(this.codex, 'sessions', ...day, `rollout-${stamp.slice(0, 19).replaceAll(':', '-')}-${id}.jsonl`);
    await write(path, `${meta}\n${`${turn}\n`.repeat(turns)}`, time);
    return path;
  }

  async #claudeSession(id, hoursAgo, prompt, file) {
    const time = new Date(Date.now() - hoursAgo * 3_600_000);
    const common = {
      sessionId: id,
      cwd: this.workspace,
      gitBranch: 'main',
      version: '2.0.50',
      userType: 'external',
      isSidechain: false,
      timestamp: time.toISOString(),
    };
    const lines = [
      { ...common, type: 'user', uuid: 'a', parentUuid: null, message: { role: 'user', content: prompt } },
      {
        ...common,
        type: 'assistant',
        uuid: 'b',
        parentUuid: 'a',
        message: {
          id: 'msg_1',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [
            {
              type: 'tool_use',
              id: 'toolu_1',
              name: 'Edit',
              input: { file_path: join(this.workspace, file), old_string: 'a', new_string: 'b' },
            },
          ],
        },
      },
      {
        ...common,
        type: 'assistant',
        uuid: 'c',
        parentUuid: 'b',
        message: {
          id: 'msg_2',
          role: 'assistant',
          model: 'claude-sonnet-4-5',
          content: [{ type: 'text', text: 'The draft is there.' }],
        },
      },
    ];
    const folder = this.workspace.replaceAll(/[^A-Za-z0-9]/g, '-');
    await write(
      join(this.claude, 'projects', folder, `${id}.jsonl`),
      `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
      time,
    );
  }
}

async function write(path, text, time) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  if (time !== undefined) await utimes(path, time, time);
}
