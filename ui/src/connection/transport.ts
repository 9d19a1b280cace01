import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import type { Address } from '../backend';
import type { Firehose } from './delivery';

/** How the page and its bridge talk: over one WebSocket, or, where none can be opened, over HTTP and an event stream. */
export type TransportName = 'websocket' | 'events';

/** One connection, from the moment that it is tried. */
export interface Transport {
  readonly stream: Stream;
  /** Nothing is told of it any more once it is closed from here. */
  close(): void;
}

export interface TransportEvents {
  /** Messages can be sent. */
  opened(): void;
  /** Something came, be it a sign of life alone. */
  heard(): void;
  /** It is over; codes as of a WebSocket. */
  closed(code: number, reason: string): void;
}

export type Open = (address: Address & { token: string }, firehose: Firehose, events: TransportEvents) => Transport;

/** What the bridge says by closing. */
export const CLOSE = {
  /** The token is wrong, or of a device that is not paired any more. */
  refused: 4401,
  /** This device was removed while it was connected. */
  removed: 4403,
  /** This page took its updates too slowly: it goes on from the last one that it has. */
  behind: 4408,
  /** It broke. */
  broken: 1006,
} as const;

/** The readable end of a transport, and what fills it. */
export function inbox(cancel: () => void): { readable: ReadableStream<AnyMessage>; put: (message: AnyMessage) => void; end: () => void } {
  let controller: ReadableStreamDefaultController<AnyMessage>;
  const readable = new ReadableStream<AnyMessage>({ start: (own) => void (controller = own), cancel });
  const unlessLeft = (act: () => void): void => {
    try {
      act();
    } catch {
      // The reader has left already.
    }
  };
  return { readable, put: (message) => unlessLeft(() => controller.enqueue(message)), end: () => unlessLeft(() => controller.close()) };
}
