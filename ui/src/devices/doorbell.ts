import type { DeviceRequest } from '../connection/devices-wire';
import { knockWords } from './device-words';

/** Calls the person at the desktop once for each request to be let in. */
export class Doorbell {
  readonly #rung = new Set<string>();
  readonly #say: ((title: string, body: string) => void) | undefined;

  constructor(say: ((title: string, body: string) => void) | undefined) {
    this.#say = say;
  }

  ring(requests: readonly DeviceRequest[]): void {
    for (const request of requests) {
      if (this.#rung.has(request.id)) continue;
      this.#rung.add(request.id);
      this.#say?.('OpenAgents', knockWords(request));
    }
  }
}
