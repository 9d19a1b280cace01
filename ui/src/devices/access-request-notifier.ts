import type { DeviceRequest } from '../connection/devices-wire';
import { accessRequestWords } from './device-words';

/** Notifies the user at the desktop once for each access request. */
export class AccessRequestNotifier {
  readonly #notified = new Set<string>();

  constructor(private readonly say: ((title: string, body: string) => void) | undefined) {}

  notify(requests: readonly DeviceRequest[]): void {
    for (const request of requests) {
      if (this.#notified.has(request.id)) continue;
      this.#notified.add(request.id);
      this.say?.('OpenAgents', accessRequestWords(request));
    }
  }
}
