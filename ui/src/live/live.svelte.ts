import type { Link } from '../connection/link.svelte';
import { METHODS } from '../connection/protocol';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import type { LiveSession, LiveSnapshot } from '../connection/wire';

/** What the agents on the bridge's computer are doing, in terminals and editors. */
export class Live extends SnapshotClient<LiveSnapshot> {
  readonly #byKey = $derived(
    new Map((this.snapshot?.sessions ?? []).map((session) => [`${session.provider} ${session.id ?? ''}`, session])),
  );

  constructor(link: Link) {
    super(link, METHODS.live);
  }

  /** Those that cannot continue without the user, longest wait first. */
  get needs(): readonly LiveSession[] {
    return this.snapshot?.sessions.filter(({ state }) => state === 'needs') ?? [];
  }

  /** The state of a session in the history; undefined if its agent does not run. */
  of(provider: string, id: string): LiveSession | undefined {
    return this.#byKey.get(`${provider} ${id}`);
  }
}
