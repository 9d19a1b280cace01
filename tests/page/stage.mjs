// The stage of the page tests: a workspace with history, the real server on it, and a browser. Importing it sets the
// stage for the whole file: node runs each test file in a process of its own.

import { after, before } from 'node:test';
import { launch } from './browser.mjs';
import { Fixture } from './fixture.mjs';
import { Server } from './server.mjs';

export let fixture, server, browser;

before(async () => {
  fixture = await Fixture.create();
  [server, browser] = await Promise.all([Server.start(fixture), launch()]);
});

after(async () => {
  await browser?.close();
  await server?.stop();
  await fixture?.remove();
});

/** Starts another server on the data of one that has ended. */
export function startServer(port) {
  return Server.start(fixture, port);
}

/** Restarts the server on its port, as after a crash. */
export async function restartServer() {
  server = await server.again();
}
