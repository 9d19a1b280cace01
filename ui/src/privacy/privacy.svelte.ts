import type { Link } from '../connection/link.svelte';
import { METHODS } from '../connection/protocol';
import type { PrivacySnapshot } from '../connection/wire';
import { SnapshotClient } from '../connection/snapshot-client.svelte';

/** Read access of models and agents, from the bridge's snapshots. */
export class Privacy extends SnapshotClient<PrivacySnapshot> {
  constructor(link: Link) {
    super(link, METHODS.privacy);
  }

  set(name: string, on: boolean): void {
    void this.act('set', { switch: name, on }, '');
  }
}
