// A model file server like the real one, with one small file that it can serve slowly.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';

const NAME = 'gpt-oss-20b-mxfp4.gguf';
const COMMIT = 'c'.repeat(40);
const PIECE = 64 * 1024;
/** Bytes per 100 ms while held back: visible progress, for minutes. */
const TRICKLE = 1024;

/** A GGUF header without tensors, and padding: whole enough to be downloaded and verified. */
function model(bytes) {
  const number = (value, size) => {
    const out = Buffer.alloc(size);
    if (size === 8) out.writeBigUInt64LE(BigInt(value));
    else out.writeUInt32LE(value);
    return out;
  };
  const text = (value) => [number(Buffer.byteLength(value), 8), Buffer.from(value)];
  const pairs = Object.entries({ 'general.architecture': 'gpt-oss', 'general.name': 'Tiny', 'general.type': 'model' });
  const parts = [Buffer.from('GGUF'), number(3, 4), number(0, 8), number(pairs.length, 8)];
  for (const [key, value] of pairs) parts.push(...text(key), number(8, 4), ...text(value));
  const head = Buffer.concat(parts);
  return Buffer.concat([head, Buffer.alloc(bytes - head.length, 7)]);
}

export class Repository {
  /** Bytes served before it slows down; raised by `release`. */
  #limit;
  #body;
  #server;
  #drops = false;
  /** The start offset of each download, in bytes. */
  starts = [];
  /** Every URL is unknown. */
  missing = false;

  static async start(bytes, limit) {
    const repository = new Repository();
    repository.#body = model(bytes);
    repository.#limit = limit;
    repository.#server = createServer(
      (request, response) => void repository.#answer(request, response).catch(() => response.destroy()),
    );
    repository.#server.listen(0, '127.0.0.1');
    await once(repository.#server, 'listening');
    repository.address = `http://127.0.0.1:${repository.#server.address().port}`;
    return repository;
  }

  /** Serves the rest at once. */
  release() {
    this.#limit = Infinity;
  }

  /** Breaks the connection once, in the middle of the file. */
  dropOnce() {
    this.#drops = true;
  }

  stop() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request, response) {
    const path = new URL(request.url, this.address).pathname;
    if (this.missing) return response.writeHead(404).end();
    if (path.includes('/revision/')) return response.end(JSON.stringify({ sha: COMMIT }));
    if (path.includes('/tree/')) {
      const oid = createHash('sha256').update(this.#body).digest('hex');
      return response.end(JSON.stringify([{ path: NAME, size: this.#body.length, lfs: { oid } }]));
    }
    const from = Number(/bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const all = this.#body.length;
    this.starts.push(from);
    response.writeHead(from > 0 ? 206 : 200, {
      'content-length': all - from,
      etag: '"one"',
      'accept-ranges': 'bytes',
      ...(from > 0 ? { 'content-range': `bytes ${from}-${all - 1}/${all}` } : {}),
    });
    for (let at = from; at < all && !response.destroyed;) {
      const held = at >= this.#limit;
      if (held) await new Promise((wake) => setTimeout(wake, 100));
      const end = Math.min(at + (held ? TRICKLE : PIECE), all);
      response.write(this.#body.subarray(at, end));
      at = end;
      if (this.#drops && at > all / 2) {
        this.#drops = false;
        // The written data arrives before the connection breaks.
        return response.write('', () => response.destroy());
      }
    }
    response.end();
  }
}
