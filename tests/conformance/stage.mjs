// The real programs, on a data folder and a workspace of their own.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';

/** Where cargo puts programs. */
const BUILT = process.env.OPENAGENTS_PROGRAMS;
const OPENAGENTS = `${BUILT}/openagents`;
const FAKE_AGENT = `${BUILT}/fake-agent`;

/** Nothing here takes so long: what waits longer hangs. */
const HANGS_MS = 120_000;

export class Stage {
  static async open() {
    const stage = new Stage();
    stage.folder = await realpath(await mkdtemp(`${tmpdir()}/openagents-conformance-`));
    stage.workspace = `${stage.folder}/proj`;
    await mkdir(stage.workspace);
    await writeFile(`${stage.workspace}/README.md`, '# Proj\n\nA small project.\n');
    stage.env = {
      ...process.env,
      HOME: stage.folder,
      OPENAGENTS_HOME: `${stage.folder}/home`,
      CODEX_HOME: `${stage.folder}/codex`,
      CLAUDE_CONFIG_DIR: `${stage.folder}/claude`,
    };
    return stage;
  }

  /** What speaks ACP on standard input and output. */
  get agent() {
    return `${OPENAGENTS} acp`;
  }

  /** The mode in which the scripted agent answers. */
  async addScriptedAgent() {
    const added = await this.run(OPENAGENTS, ['agents', 'add', 'fake', '--', FAKE_AGENT]);
    if (added.code !== 0) throw new Error(added.err);
    const trusted = await this.run(OPENAGENTS, ['workspaces', 'trust', this.workspace, '--yes']);
    if (trusted.code !== 0) throw new Error(trusted.err);
    return 'custom:fake';
  }

  /** Runs a program to its end. */
  async run(program, args) {
    const child = spawn(program, args, { cwd: this.workspace, env: this.env, stdio: ['ignore', 'pipe', 'pipe'] });
    const hang = setTimeout(() => child.kill('SIGKILL'), HANGS_MS);
    let [out, err] = ['', ''];
    child.stdout.on('data', (text) => (out += text));
    child.stderr.on('data', (text) => (err += text));
    const [code, signal] = await once(child, 'close').finally(() => clearTimeout(hang));
    return { code: code ?? signal, out, err };
  }

  /** Starts `openagents serve`, which ends with the stage. */
  async serve() {
    const args = ['serve', '--port', '0', '--json'];
    this.server = spawn(OPENAGENTS, args, { cwd: this.workspace, env: this.env, stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: this.server.stdout });
    const failed = once(this.server, 'exit').then(([code]) => Promise.reject(new Error(`it ended with ${code}`)));
    const [first] = await Promise.race([once(lines, 'line'), failed]);
    failed.catch(() => {});
    const { port, token_file } = JSON.parse(first);
    return { port, token: (await readFile(token_file, 'utf8')).trim() };
  }

  async close() {
    if (this.server && this.server.exitCode === null) {
      this.server.kill();
      await once(this.server, 'exit');
    }
    await rm(this.folder, { recursive: true, force: true });
  }
}
