import type { AnyMessage } from '@agentclientprotocol/sdk';
import { METHODS, type Update } from './protocol';
import type {
  Access,
  ActivityParams,
  AgentsSnapshot,
  DevicesSnapshot,
  Frame,
  HistorySnapshot,
  KeepSnapshot,
  LiveSnapshot,
  ModelsSnapshot,
  PastChanges,
  PrivacySnapshot,
  QueueParams,
  SessionsParams,
  SnapshotParams,
  TrustSnapshot,
  UpdateParams,
} from './wire';

/** Receives our own notifications: two kinds in batches, the rest one by one. */
export interface Firehose extends Notices {
  updates(batch: Update[]): void;
  frames(batch: Frame[]): void;
}

/** Each is delivered after the updates that preceded it. */
interface Notices {
  activity(params: ActivityParams): void;
  models(snapshot: ModelsSnapshot): void;
  agents(snapshot: AgentsSnapshot): void;
  privacy(snapshot: PrivacySnapshot): void;
  devices(snapshot: DevicesSnapshot): void;
  trust(snapshot: TrustSnapshot): void;
  access(params: Access): void;
  sessions(params: SessionsParams): void;
  snapshot(params: SnapshotParams): void;
  queue(params: QueueParams): void;
  /** Null: this client may no longer see them. */
  historyChanged(params: PastChanges | null): void;
  historySettings(snapshot: HistorySnapshot): void;
  keepStatus(snapshot: KeepSnapshot): void;
  liveChanged(snapshot: LiveSnapshot): void;
}

const NOTICES = [
  'activity',
  'models',
  'agents',
  'privacy',
  'devices',
  'trust',
  'access',
  'sessions',
  'snapshot',
  'queue',
  'historyChanged',
  'historySettings',
  'keepStatus',
  'liveChanged',
] as const satisfies (keyof Notices)[];
const NOTICE_OF = new Map<unknown, keyof Notices>(NOTICES.map((name) => [METHODS[name], name]));

/** Milliseconds between two deliveries of a batch. */
const FRAME = 16;

/**
 * Dispatches the messages of a connection: our notifications to the page, the rest to the SDK.
 *
 * `session/update` and `_openagents/frame` bypass the SDK. It validates every notification against a schema (twice for
 * updates), which takes seconds for a log of 50,000, and passes on copies without the fields it does not know, while
 * the inspector shows the original. They are batched and delivered once per frame.
 */
export class Delivery {
  readonly #firehose: Firehose;
  readonly #others: (message: AnyMessage) => void;
  readonly #flusher = new MessageChannel();
  #updates: Update[] = [];
  #frames: Frame[] = [];
  #scheduled = false;
  #flushed = 0;

  constructor(firehose: Firehose, others: (message: AnyMessage) => void) {
    this.#firehose = firehose;
    this.#others = others;
    this.#flusher.port1.onmessage = () => this.#flush();
  }

  take(text: string): void {
    let message: Record<string, unknown>;
    try {
      message = JSON.parse(text) as Record<string, unknown>;
    } catch {
      // A frame that is not JSON is a fault of the bridge; the connection itself is fine.
      return;
    }
    if ('id' in message || !this.#ours(message, text.length)) this.#others(message as AnyMessage);
  }

  /** Delivers the rest and stops. */
  end(): void {
    this.#flush();
    this.#flusher.port1.close();
  }

  #ours(message: Record<string, unknown>, bytes: number): boolean {
    if (message['method'] === 'session/update') {
      const params = message['params'] as UpdateParams;
      const meta = params._meta?.openagents;
      this.#updates.push({ params, seq: meta?.seq ?? 0, ts: meta?.ts ?? Date.now(), bytes });
    } else if (message['method'] === METHODS.frame) {
      this.#frames.push(message['params'] as Frame);
    } else {
      const notice = NOTICE_OF.get(message['method']);
      if (notice === undefined) return false;
      this.#flush();
      this.#firehose[notice](message['params'] as never);
      return true;
    }
    this.#schedule();
    return true;
  }

  #flush(): void {
    this.#scheduled = false;
    this.#flushed = performance.now();
    const [updates, frames] = [this.#updates, this.#frames];
    this.#updates = [];
    this.#frames = [];
    if (updates.length > 0) this.#firehose.updates(updates);
    if (frames.length > 0) this.#firehose.frames(frames);
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    // The first message of a burst is delivered at once, after the events already queued; the rest once per frame.
    // Unlike requestAnimationFrame, both also run in a hidden tab.
    const rest = this.#flushed + FRAME - performance.now();
    if (rest <= 0) this.#flusher.port2.postMessage(null);
    else setTimeout(() => this.#flush(), rest);
  }
}
