// Another program takes the port of a bridge that crashed: it hears no token, and the page goes on by itself afterwards.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { PROGRAM } from './server.mjs';
import { browser, fixture, restartServer, server, startServer } from './stage.mjs';

const BROKEN = /WebSocket connection to .* failed|ERR_|status of \d+/;

/** Records every byte, and answers as the bridge would. */
class Squatter {
  heard = '';
  upgrades = 0;
  #asked;
  /** The first whole request. */
  asked = new Promise((heard) => (this.#asked = heard));
  #sockets = new Set();

  /** `relay` is the address of the real bridge, which is asked for its proof. */
  static async on(port, relay) {
    const squatter = new Squatter();
    squatter.server = createServer((socket) => squatter.#serve(socket, port, relay));
    squatter.server.listen(port, '127.0.0.1');
    await once(squatter.server, 'listening');
    return squatter;
  }

  #serve(socket, port, relay) {
    this.#sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
    let request = '';
    socket.on('data', async (bytes) => {
      const text = bytes.toString('latin1');
      this.heard += text;
      request += text;
      const [head, body] = request.split('\r\n\r\n');
      if (body === undefined || body.length < Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)) return;
      request = '';
      this.#asked();
      const key = /sec-websocket-key: (.*)/i.exec(head)?.[1];
      if (key !== undefined) {
        this.upgrades += 1;
        const accept = createHash('sha1').update(`${key.trim()}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
        return socket.write(`HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: openagents.v1\r\n\r\n`);
      }
      let answer = JSON.stringify({ port, proof: 'ab'.repeat(32), token: 'cd'.repeat(32) });
      if (relay !== undefined && head.includes('/proof')) {
        answer = await (await fetch(`${relay}/proof`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).text();
      }
      socket.end(`HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\nConnection: close\r\n\r\n${answer}`);
    });
  }

  async stop() {
    this.server.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.server, 'close');
  }

  /** What could be a token. */
  get tokens() {
    return new Set(this.heard.match(/[\w.-]{20,}/g) ?? []);
  }
}

/** Returns the statuses of a bridge for what a squatter has heard. */
async function tried(bridge, tokens) {
  const options = (token) => ({ method: 'POST', headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }, body: '{}' });
  // At once, because each waits longer than the one before.
  const answers = await Promise.all([...tokens].map((token) => fetch(`${bridge.origin}/acp`, options(token))));
  return [...new Set(answers.map(({ status }) => status))];
}

function cli(...args) {
  const child = spawn(PROGRAM, args, {
    env: { ...process.env, OPENAGENTS_HOME: fixture.home, CODEX_HOME: fixture.codex, CLAUDE_CONFIG_DIR: fixture.claude },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { child, lines: createInterface({ input: child.stdout }) };
}

test('a program on the port of a bridge that crashed hears no token, and the page goes on afterwards', async (context) => {
  const tab = await Tab.open(browser);
  tab.expected.push(BROKEN);
  const { page } = tab;
  await page.goto(server.address);
  await tab.live();
  await tab.explore();
  const session = decodeURIComponent(new URL(page.url()).hash.replace('#session=', ''));
  const attached = cli('attach', '--json', session);
  context.after(() => attached.child.kill('SIGKILL'));
  await once(attached.lines, 'line');

  const [{ token, port, origin }, updates] = [server, await page.locator('[data-updates]').getAttribute('data-updates')];
  await server.crash();
  const squatter = await Squatter.on(port);
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();
  await page.getByRole('button', { name: 'Reconnect', exact: true }).click();
  await squatter.asked;
  assert.ok(!squatter.heard.includes(token) && squatter.upgrades === 0, 'nothing was offered');
  // A command beside it starts a bridge of its own.
  const { child } = cli('attach', '--json');
  await once(child, 'exit');
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();

  // The bridge is back elsewhere, and the squatter passes the page's questions on to it.
  await squatter.stop();
  const elsewhere = await startServer(0);
  const relaying = await Squatter.on(port, elsewhere.origin);
  const again = page.waitForResponse(`${origin}/proof`);
  await page.getByRole('button', { name: 'Reconnect', exact: true }).click();
  assert.equal((await (await again).json()).port, elsewhere.port, 'the proof of the bridge, for its own port');
  await page.getByText(/Offline since \d\d:\d\d/).first().waitFor();
  assert.equal(squatter.upgrades + relaying.upgrades, 0, 'nothing was offered');
  assert.match(squatter.heard, /POST \/proof/);
  const tokens = new Set([...squatter.tokens, ...relaying.tokens, token]);
  assert.deepEqual(await tried(elsewhere, tokens), [401]);
  await relaying.stop();
  await elsewhere.stop();

  await restartServer();
  await tab.live();
  assert.equal(await page.locator('[data-updates]').getAttribute('data-updates'), updates);
  assert.deepEqual(await tried(server, tokens), [401]);
  await tab.close();
});
