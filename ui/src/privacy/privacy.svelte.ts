import type { Link } from '../connection/link.svelte';
import type { PrivacySnapshot } from '../connection/privacy-wire';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import { METHODS } from '../connection/wire';

/** Read access of models and agents, from the bridge's snapshots. */
export class Privacy extends SnapshotClient<PrivacySnapshot> {
  constructor(link: Link) {
    super(link, METHODS.privacy);
  }

  set(name: string, on: boolean): void {
    void this.act('set', { switch: name, on }, '');
  }
}
