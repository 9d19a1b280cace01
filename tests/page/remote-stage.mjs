// A phone on the network: the server's encrypted listener, and a browser that trusts its certificate authority, imported
// as on a real phone. Certificate errors are never ignored.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { launch, Tab } from './browser.mjs';
import { Fixture } from './fixture.mjs';
import { PROGRAM, Server } from './server.mjs';

const run = promisify(execFile);

/** Time limit of a program, in milliseconds. */
const HANG = 60_000;

/** A network address of this machine; without one, at least not the page's own. */
function networkAddress() {
  const known = Object.values(networkInterfaces()).flat();
  return known.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.2';
}

export class RemoteStage {
  static async set() {
    const stage = new RemoteStage();
    stage.fixture = await Fixture.create();
    stage.fixture.args = ['--lan', '--lan-port', '0', '--lan-address', networkAddress()];
    stage.server = await Server.start(stage.fixture);
    stage.profile = await mkdtemp(join(tmpdir(), 'openagents-browser-'));
    await stage.#trust();
    stage.browser = await launch({ ...process.env, HOME: stage.profile });
    return stage;
  }

  async strike() {
    await this.browser?.close();
    await this.server?.stop();
    await this.fixture?.remove();
    if (this.profile !== undefined) await rm(this.profile, { recursive: true, force: true });
  }

  /** The URL for phones. */
  get origin() {
    return this.server.lan[0];
  }

  /** Imports the certificate authority into Chromium's user store. */
  async #trust() {
    const store = join(this.profile, '.pki', 'nssdb');
    const file = join(this.profile, 'ca.pem');
    await mkdir(store, { recursive: true });
    await writeFile(file, await (await fetch(`${this.server.origin}/ca.pem`)).text());
    await run('certutil', ['-N', '-d', `sql:${store}`, '--empty-password']);
    await run('certutil', ['-A', '-d', `sql:${store}`, '-n', 'OpenAgents', '-t', 'C,,', '-i', file]);
  }

  /** Runs a command against the running server. */
  async cli(...args) {
    const { home, codex, claude } = this.fixture;
    const env = { ...process.env, OPENAGENTS_HOME: home, CODEX_HOME: codex, CLAUDE_CONFIG_DIR: claude };
    return JSON.parse((await run(PROGRAM, [...args, '--json'], { env, timeout: HANG })).stdout);
  }

  /** A paired phone with a live page. `prepare` is called before it opens the page. */
  async phone({ prepare, ...options } = {}) {
    const tab = await Tab.open(this.browser, { size: 'phone', ...options });
    await prepare?.(tab);
    await this.pair(async (code) => {
      await tab.page.goto(`${this.origin}/#pair=${code}`);
      await tab.page.getByRole('button', { name: 'Pair this device' }).click();
      await tab.page.locator('[data-compare]').waitFor();
    });
    await tab.live();
    return tab;
  }

  /** Shows a code; `claim` enters it on the device, which is then allowed. */
  async pair(claim) {
    const env = { ...process.env, OPENAGENTS_HOME: this.fixture.home };
    const pairing = spawn(PROGRAM, ['pair', '--json'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      const [line] = await once(createInterface({ input: pairing.stdout }), 'line', {
        signal: AbortSignal.timeout(HANG),
      });
      await claim(JSON.parse(line).pairing.code);
      const { requests } = await this.cli('devices', 'list');
      await this.cli('devices', 'allow', requests[0].id);
    } finally {
      pairing.kill('SIGTERM');
    }
  }
}
