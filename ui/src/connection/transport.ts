import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import type { Address } from '../backend';
import type { Firehose } from './delivery';

/** The transport: one WebSocket, or HTTP with an event stream where none can be opened. */
export type TransportName = 'websocket' | 'events';

/** One connection attempt and the connection it leads to. */
export interface Transport {
  readonly stream: Stream;
  /** No events follow once it is closed from here. */
  close(): void;
}

export interface TransportEvents {
  opened(): void;
  /** A message or a keep-alive arrived. */
  heard(): void;
  /** The connection ended; uses WebSocket close codes. */
  closed(code: number): void;
}

export type Open = (address: Address & { token: string }, firehose: Firehose, events: TransportEvents) => Transport;

/** The bridge's close codes. */
export const CLOSE = {
  /** The token is wrong or its device is no longer paired. */
  refused: 4401,
  /** This device was removed while it was connected. */
  removed: 4403,
  /** This page read its updates too slowly; it continues after the last one it has. */
  behind: 4408,
  /** The connection broke. */
  broken: 1006,
} as const;

/** The readable end of a transport, and the functions that fill it. */
export function inbox(cancel: () => void): {
  readable: ReadableStream<AnyMessage>;
  put: (message: AnyMessage) => void;
  end: () => void;
} {
  let controller: ReadableStreamDefaultController<AnyMessage>;
  const readable = new ReadableStream<AnyMessage>({ start: (own) => void (controller = own), cancel });
  const unlessLeft = (act: () => void): void => {
    try {
      act();
    } catch {
      // The reader has already left.
    }
  };
  return {
    readable,
    put: (message) => unlessLeft(() => controller.enqueue(message)),
    end: () => unlessLeft(() => controller.close()),
  };
}
