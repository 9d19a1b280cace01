import { METHODS } from '../connection/protocol';
import type { DeviceRequest, DevicesSnapshot, RemoteAction, Scope } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import { holds } from './device-words';

/** Entries per page of the audit log. */
const PAGE = 30;

/** The devices of this bridge, for those who may manage them. */
export class Devices extends SnapshotClient<DevicesSnapshot> {
  /** Access requests that were put off; they stay in the settings until they expire. */
  aside = $state.raw<ReadonlySet<string>>(new Set());

  readonly #of: Link;

  constructor(link: Link) {
    super(link, METHODS.devices);
    this.#of = link;
  }

  /** Without the scope there is nothing to subscribe to. */
  override connected(): void {
    if (holds(this.#of.access.scope, 'admin')) super.connected();
    else this.snapshot = null;
  }

  /** Pending access requests, oldest first. */
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

  /** Audit log entries, newest first; `before` is the last one already shown. */
  async audit(before?: RemoteAction): Promise<{ entries: RemoteAction[]; more: boolean }> {
    const { entries } = await this.ask<{ entries: RemoteAction[] }>('audit', {
      limit: PAGE,
      ...(before === undefined ? {} : { before: before.id }),
    });
    return { entries, more: entries.length === PAGE };
  }
}
