import type { Link } from '../connection/link.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import { METHODS, type TrustSnapshot } from '../connection/wire';

/** The folders in which agents may start. */
export class Trusted extends SnapshotClient<TrustSnapshot> {
  constructor(link: Link) {
    super(link, METHODS.trust);
  }

  revoke(path: string): Promise<boolean> {
    return this.act('revoke', { path }, path);
  }
}
