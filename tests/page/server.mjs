// The real server, with its own data folder and histories.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** The folder of cargo's programs. */
export const BUILT = `${process.env.CARGO_TARGET_DIR ?? `${ROOT}target`}/debug`;
export const PROGRAM = process.env.OPENAGENTS_BIN ?? `${BUILT}/openagents`;

export class Server {
  #child;
  #folders;

  /** Starts a server and resolves when it listens. `port` 0 lets it choose one. */
  static async start(folders, port = 0) {
    await access(PROGRAM).catch(() => {
      throw new Error(`There is no ${PROGRAM}. Build it with: cargo build -p openagents-cli`);
    });
    const server = new Server();
    server.#folders = folders;
    const child = spawn(
      PROGRAM,
      ['serve', '--port', String(port), '--root', folders.workspace, '--json', ...(folders.args ?? [])],
      {
        env: {
          ...process.env,
          // A model is many times slower with more threads than free cores.
          OPENAGENTS_LLAMA_THREADS: '1',
          // Where the other agents keep their sessions.
          HOME: folders.base ?? folders.home,
          XDG_DATA_HOME: `${folders.base ?? folders.home}/share`,
          OPENAGENTS_HOME: folders.home,
          CODEX_HOME: folders.codex,
          CLAUDE_CONFIG_DIR: folders.claude,
          ...folders.env,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    server.#child = child;
    let complaints = '';
    child.stderr.on('data', (text) => (complaints += text));
    const lines = createInterface({ input: child.stdout });
    const [first] = await Promise.race([
      once(lines, 'line'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`The server ended with ${code}: ${complaints}`);
      }),
    ]);
    const said = JSON.parse(first);
    server.port = said.port;
    /** Addresses on the network. */
    server.lan = said.lan;
    server.token = (await readFile(said.token_file, 'utf8')).trim();
    return server;
  }

  get origin() {
    return `http://127.0.0.1:${this.port}`;
  }

  /** The URL to open. */
  get address() {
    return `${this.origin}/#token=${this.token}`;
  }

  /** Ends it like Ctrl-C. */
  async stop() {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    // A test that failed may have left it frozen.
    this.thaw();
    this.#child.kill('SIGINT');
    await ended;
  }

  /** Ends it like a crash. */
  async crash() {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  /** It accepts connections but answers nothing until it thaws. */
  freeze() {
    this.#child.kill('SIGSTOP');
  }

  thaw() {
    this.#child.kill('SIGCONT');
  }

  /** Starts another one with the same port and data. */
  async again() {
    const args = (this.#folders.args ?? []).map((arg, at, all) =>
      all[at - 1] === '--lan-port' ? new URL(this.lan[0]).port : arg,
    );
    return Server.start({ ...this.#folders, args }, this.port);
  }
}
