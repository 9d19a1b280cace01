import type { DeviceRequest, DevicesSnapshot, RemoteAction, Scope } from '../connection/devices-wire';
import type { Link } from '../connection/link.svelte';
import { Watched } from '../connection/watched.svelte';
import { METHODS } from '../connection/wire';
import { holds } from './scope';

/** Lines of one page of the audit log. */
const PAGE = 30;

/** The devices of this bridge as it tells of them, to those who may manage them. */
export class Devices extends Watched<DevicesSnapshot> {
  /** Requests that a person put off; they stand in the settings until they expire. */
  aside = $state.raw<ReadonlySet<string>>(new Set());

  readonly #of: () => Link;

  constructor(link: () => Link) {
    super(link, METHODS.devices);
    this.#of = link;
  }

  /** Somebody without the scope is not told, and need not ask. */
  override connected(): void {
    if (holds(this.#of().access.scope, 'admin')) super.connected();
    else this.snapshot = null;
  }

  /** Who waits to be let in, whoever came first in front. */
  get requests(): readonly DeviceRequest[] {
    return [...(this.snapshot?.requests ?? [])].sort((a, b) => a.askedAt - b.askedAt);
  }

  setAside(id: string): void {
    this.aside = new Set([...this.aside, id]);
  }

  bringBack(id: string): void {
    this.aside = new Set([...this.aside].filter((known) => known !== id));
  }

  allow(request: DeviceRequest, name: string, scope: Scope): Promise<boolean> {
    const wish = request.kind === 'ios' ? {} : { name, scope };
    return this.act('allow', { requestId: request.id, ...wish }, request.id);
  }

  decline(request: DeviceRequest): Promise<boolean> {
    return this.act('decline', { requestId: request.id }, request.id);
  }

  /** What was done from afar, newest first; `before` is the last one that is shown already. */
  async audit(before?: RemoteAction): Promise<{ entries: RemoteAction[]; more: boolean }> {
    const { entries } = await this.ask<{ entries: RemoteAction[] }>('audit', { limit: PAGE, ...(before === undefined ? {} : { before: before.id }) });
    return { entries, more: entries.length === PAGE };
  }
}
