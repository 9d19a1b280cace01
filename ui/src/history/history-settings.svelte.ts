import { METHODS } from '../connection/protocol';
import type { HistorySnapshot } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';

export interface Excluded {
  agent?: string;
  workspace?: string;
}

export interface Change {
  index?: boolean;
  devices?: boolean;
  exclude?: Excluded;
  include?: Excluded;
}

/** Index state and settings for other agents' sessions, from the bridge's snapshots. */
export class HistorySettings extends SnapshotClient<HistorySnapshot> {
  constructor(link: Link) {
    super(link, METHODS.history, 'settings');
  }

  configure(change: Change): Promise<boolean> {
    return this.act('configure', change, '');
  }

  rebuild(): Promise<boolean> {
    return this.act('rebuild', {}, '');
  }

  clear(): Promise<boolean> {
    return this.act('clear', {}, '');
  }
}
