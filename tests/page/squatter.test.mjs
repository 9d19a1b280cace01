// Another program takes the port of a bridge that crashed: it hears no token, nor does its page in a reloaded tab read one
// that a bridge accepts, and a page that was not reloaded goes on by itself afterwards.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { Tab } from './browser.mjs';
import { PROGRAM } from './server.mjs';
import { browser, fixture, restartServer, server, startServer } from './stage.mjs';

const EARLIER = 'OpenAgents was restarted. Open the address that openagents serve printed.';
const BROKEN = /WebSocket connection to .* failed|ERR_|status of \d+/;

/** Its page sends home all that the browser keeps for the address. */
const PAGE = `<!doctype html><title>OpenAgents</title><script type="module">
  const kept = [{ ...sessionStorage }, { ...localStorage }, document.cookie, await indexedDB.databases(), await caches.keys()];
  await fetch('/stolen', { method: 'POST', body: JSON.stringify(kept) });
</script>`;

/** Records every byte, and answers as the bridge would. */
class Squatter {
  heard = '';
  upgrades = 0;
  #asked;
  #stolen;
  /** The first whole request. */
  asked = new Promise((heard) => (this.#asked = heard));
  /** What its page has read: the values of the storages. */
  stolen = new Promise((stolen) => (this.#stolen = stolen));
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
      if (head.startsWith('POST /stolen')) this.#stolen(body);
      const key = /sec-websocket-key: (.*)/i.exec(head)?.[1];
      if (key !== undefined) {
        this.upgrades += 1;
        const accept = createHash('sha1').update(`${key.trim()}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
        return socket.write(
          `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: openagents.v1\r\n\r\n`,
        );
      }
      let [kind, answer] = [
        'application/json',
        JSON.stringify({ port, proof: 'ab'.repeat(32), token: 'cd'.repeat(32), reload: 'ef'.repeat(32) }),
      ];
      if (head.startsWith('GET / ')) [kind, answer] = ['text/html', PAGE];
      if (relay !== undefined && head.includes('/proof')) {
        answer = await (
          await fetch(`${relay}/proof`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })
        ).text();
      }
      socket.end(
        `HTTP/1.1 200 OK\r\nContent-Type: ${kind}\r\nContent-Length: ${answer.length}\r\nConnection: close\r\n\r\n${answer}`,
      );
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

/** Asserts that a bridge accepts none of these, which a squatter has heard or read: not as a token, nor as a key of a proof. */
async function refusesAll(bridge, tokens) {
  const post = (path, body, headers = {}) =>
    fetch(`${bridge.origin}${path}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  // At once, because each waits longer than the one before.
  const tried = [...tokens].flatMap((token) =>
    ['/acp', '/tab'].map((path) => post(path, {}, { Authorization: `Bearer ${token}` })),
  );
  assert.deepEqual([...new Set((await Promise.all(tried)).map(({ status }) => status))], [401]);
  const keys = [...tokens].flatMap((token) => [createHash('sha256').update(token).digest(), Buffer.from(token, 'hex')]);
  const ids = keys.map((key) => createHmac('sha256', key).update('openagents token').digest('hex'));
  const proofs = ids.map(async (token) => (await post('/proof', { token, nonce: '0'.repeat(64) })).text());
  assert.deepEqual([...new Set(await Promise.all(proofs))], ['{}']);
}

function cli(...args) {
  const child = spawn(PROGRAM, args, {
    env: {
      ...process.env,
      OPENAGENTS_HOME: fixture.home,
      CODEX_HOME: fixture.codex,
      CLAUDE_CONFIG_DIR: fixture.claude,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return { child, lines: createInterface({ input: child.stdout }) };
}

test("a program on a crashed bridge's port gets no token, and the page recovers", async (context) => {
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

  const [{ token, port, origin }, updates] = [
    server,
    await page.locator('[data-updates]').getAttribute('data-updates'),
  ];
  await server.crash();
  const squatter = await Squatter.on(port);
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  await page.getByRole('button', { name: 'Reconnect', exact: true }).click();
  await squatter.asked;
  assert.ok(!squatter.heard.includes(token) && squatter.upgrades === 0, 'nothing was offered');
  // A command beside it starts a bridge of its own.
  const { child } = cli('attach', '--json');
  await once(child, 'exit');
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();

  // The bridge is back elsewhere, and the squatter passes the page's questions on to it.
  await squatter.stop();
  const elsewhere = await startServer(0);
  context.after(() => elsewhere.stop());
  const relaying = await Squatter.on(port, elsewhere.origin);
  const again = page.waitForResponse(`${origin}/proof`);
  await page.getByRole('button', { name: 'Reconnect', exact: true }).click();
  assert.equal((await (await again).json()).port, elsewhere.port, 'the proof of the bridge, for its own port');
  await page
    .getByText(/Offline since \d\d:\d\d/)
    .first()
    .waitFor();
  assert.equal(squatter.upgrades + relaying.upgrades, 0, 'nothing was offered');
  assert.match(squatter.heard, /POST \/proof/);
  const tokens = new Set([...squatter.tokens, ...relaying.tokens, token]);
  await refusesAll(elsewhere, tokens);
  await relaying.stop();
  await elsewhere.stop();

  await restartServer();
  await tab.live();
  assert.equal(await page.locator('[data-updates]').getAttribute('data-updates'), updates);
  await refusesAll(server, tokens);
  await tab.close();
});

test('a tab taken over by another program leaks no valid token and can be opened again', async (context) => {
  const [tab, other] = [await Tab.open(browser), await Tab.open(browser)];
  for (const { page, expected } of [tab, other]) {
    expected.push(BROKEN);
    await page.goto(server.address);
  }
  await Promise.all([tab.live(), other.live()]);
  const { port, token } = server;
  await server.crash();
  const squatter = await Squatter.on(port);
  await tab.page.reload();
  const stolen = await squatter.stolen;
  await squatter.stop();
  const tokens = new Set([token, ...(stolen.match(/[\w.-]{20,}/g) ?? [])]);
  assert.ok(tokens.size > 1, `the page has kept something: ${stolen}`);

  const elsewhere = await startServer(0);
  context.after(() => elsewhere.stop());
  await refusesAll(elsewhere, tokens);
  await elsewhere.stop();
  await restartServer();
  await refusesAll(server, tokens);
  // The page that was not reloaded goes on, and may be reloaded again.
  await other.live();
  await other.page.reload();
  await other.live();
  await other.close();

  await tab.page.reload();
  const said = tab.page.getByRole('alert').locator('p');
  await said.getByText('OpenAgents was restarted').waitFor();
  assert.equal((await said.innerText()).replaceAll('`', ''), EARLIER);
  await tab.shoot('earlier-start');
  await tab.shootNarrow('earlier-start');
  await tab.page.goto(server.address);
  await tab.live();
  await tab.close();
});
