import type { AnyMessage } from '@agentclientprotocol/sdk';
import { Delivery } from './delivery';
import { inbox, type Open } from './transport';

/** Talks over one WebSocket. Throws if the token contains characters that a subprotocol may not: it was never valid. */
export const openSocket: Open = ({ socket: url, token }, firehose, events) => {
  const socket = new WebSocket(url, ['openagents.v1', `openagents.token.${token}`]);
  const { readable, put, end } = inbox(close);
  const delivery = new Delivery(firehose, put);
  let over = false;

  function finish(): boolean {
    if (over) return false;
    over = true;
    delivery.end();
    end();
    return true;
  }

  function close(): void {
    finish();
    socket.close(1000);
  }

  socket.addEventListener('open', () => {
    if (!over) events.opened();
  });
  socket.addEventListener('message', (event: MessageEvent<unknown>) => {
    if (over || typeof event.data !== 'string') return;
    events.heard();
    delivery.take(event.data);
  });
  socket.addEventListener('close', ({ code }) => {
    if (finish()) events.closed(code);
  });

  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if (socket.readyState !== WebSocket.OPEN) throw new Error('OpenAgents is not connected.');
      socket.send(JSON.stringify(message));
    },
    close,
    abort: close,
  });
  return { stream: { readable, writable }, close };
};
