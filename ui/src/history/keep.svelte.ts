import { METHODS } from '../connection/protocol';
import type {
  CopyVersion,
  CopyVersions,
  KeepChange,
  KeepSnapshot,
  RestoreCopy,
  SessionName,
  VerifiedCopies,
} from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';

/** Copies of other agents' sessions that outlive their logs. */
export class Keep extends SnapshotClient<KeepSnapshot> {
  readonly #link: Link;

  constructor(link: Link) {
    super(link, METHODS.keep, 'status');
    this.#link = link;
  }

  configure(change: KeepChange): Promise<boolean> {
    return this.act('configure', change, '');
  }

  verify(): Promise<VerifiedCopies> {
    return this.#link.request<VerifiedCopies>(`${METHODS.keep}/verify`, {});
  }

  /** The versions of a session's log, the oldest first. */
  async versions(session: SessionName): Promise<readonly CopyVersion[]> {
    return (await this.#link.request<CopyVersions>(`${METHODS.keep}/versions`, session)).versions;
  }

  /** Writes the files of a session to a folder, with a version of its log. */
  async restore(copy: RestoreCopy): Promise<void> {
    await this.#link.request(`${METHODS.keep}/restore`, copy);
  }

  /** Deletes the copies of sessions, or all. */
  async forget(which: { sessions: SessionName[] } | { all: true }): Promise<void> {
    await this.#link.request(`${METHODS.keep}/forget`, which);
  }
}
