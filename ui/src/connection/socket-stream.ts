import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import type { AgentsSnapshot } from './agents-wire';
import type { AccessParams, DevicesSnapshot } from './devices-wire';
import {
  METHODS,
  type ActivityParams,
  type Frame,
  type ModelsSnapshot,
  type QueueParams,
  type SessionsParams,
  type SnapshotParams,
  type Update,
  type UpdateParams,
} from './wire';

/** Takes the notifications that are ours: two that come by the thousand, and those that are told one by one. */
export interface Firehose extends Notices {
  updates(batch: Update[]): void;
  frames(batch: Frame[]): void;
}

/** Each is told behind the updates that came before it. */
export interface Notices {
  activity(params: ActivityParams): void;
  models(snapshot: ModelsSnapshot): void;
  agents(snapshot: AgentsSnapshot): void;
  devices(snapshot: DevicesSnapshot): void;
  access(params: AccessParams): void;
  sessions(params: SessionsParams): void;
  snapshot(params: SnapshotParams): void;
  queue(params: QueueParams): void;
}

const NOTICES = ['activity', 'models', 'agents', 'devices', 'access', 'sessions', 'snapshot', 'queue'] as const satisfies (keyof Notices)[];
const NOTICE_OF = new Map<unknown, keyof Notices>(NOTICES.map((name) => [METHODS[name], name]));

/** The page is drawn no more often than this, in milliseconds. */
const FRAME = 16;

/**
 * Makes a message stream out of an open browser WebSocket.
 *
 * `session/update` and `_openagents/frame` do not go through the SDK: it validates every notification against a schema
 * (twice for updates), which costs seconds for a log of 50,000, and hands out copies without the fields it does not
 * know, while the inspector has to show what was really sent. They are gathered and handed over once a frame.
 */
export function socketStream(socket: WebSocket, firehose: Firehose): Stream {
  let updates: Update[] = [];
  let frames: Frame[] = [];
  let scheduled = false;
  let flushed = 0;
  const flusher = new MessageChannel();
  flusher.port1.onmessage = flush;

  function flush(): void {
    scheduled = false;
    flushed = performance.now();
    const [u, f] = [updates, frames];
    updates = [];
    frames = [];
    if (u.length > 0) firehose.updates(u);
    if (f.length > 0) firehose.frames(f);
  }

  function schedule(): void {
    if (scheduled) return;
    scheduled = true;
    // The first of a burst goes on at once, behind the socket events that wait already; the rest in steps of a frame.
    // Unlike requestAnimationFrame both also run while the tab is hidden.
    const rest = flushed + FRAME - performance.now();
    if (rest <= 0) flusher.port2.postMessage(null);
    else setTimeout(flush, rest);
  }

  function taken(message: Record<string, unknown>, bytes: number): boolean {
    if ('id' in message) return false;
    if (message['method'] === 'session/update') {
      const params = message['params'] as UpdateParams;
      const meta = params._meta?.openagents;
      updates.push({ params, seq: meta?.seq ?? 0, ts: meta?.ts ?? Date.now(), bytes });
    } else if (message['method'] === METHODS.frame) {
      frames.push(message['params'] as Frame);
    } else {
      const notice = NOTICE_OF.get(message['method']);
      if (notice === undefined) return false;
      flush();
      firehose[notice](message['params'] as never);
      return true;
    }
    schedule();
    return true;
  }

  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      socket.addEventListener('message', (event: MessageEvent<unknown>) => {
        if (typeof event.data !== 'string') return;
        let message: Record<string, unknown>;
        try {
          message = JSON.parse(event.data) as Record<string, unknown>;
        } catch {
          // A frame that is not JSON is the bridge's fault; the link itself is fine.
          return;
        }
        if (!taken(message, event.data.length)) controller.enqueue(message as AnyMessage);
      });
      socket.addEventListener('close', () => {
        flush();
        flusher.port1.close();
        try {
          controller.close();
        } catch {
          // The reader has left already.
        }
      });
    },
    cancel: () => socket.close(1000),
  });
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if (socket.readyState !== WebSocket.OPEN) throw new Error('The link to OpenAgents is down.');
      socket.send(JSON.stringify(message));
    },
    close: () => socket.close(1000),
    abort: () => socket.close(1000),
  });
  return { readable, writable };
}
