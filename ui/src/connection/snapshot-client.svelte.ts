import { RequestError } from '@agentclientprotocol/sdk';
import type { Link } from './link.svelte';
import { asSentence, sentence } from './errors.svelte';

/** JSON-RPC's "method not found". */
const UNKNOWN_METHOD = -32601;

/** State that the bridge sends as whole snapshots, with actions to change it. */
export class SnapshotClient<Snapshot> {
  snapshot = $state.raw<Snapshot | null>(null);
  /** This bridge does not support it. */
  absent = $state(false);
  /** Why the last action was refused, by the id of its card; `''` if it belongs to none. */
  problems = $state.raw<Readonly<Record<string, string>>>({});

  readonly #link: Link;
  readonly #method: string;
  readonly #read: string;
  #snapshots = 0;

  /** Requests go to `method` plus `/list` and the like; `read` is the one for the snapshot. */
  constructor(link: Link, method: string, read = 'list') {
    this.#link = link;
    this.#method = method;
    this.#read = read;
  }

  connected(): void {
    const snapshots = this.#snapshots;
    void this.ask<Snapshot>(this.#read, { watch: true }).then(
      (snapshot) => this.#answered(snapshot, snapshots),
      (error: unknown) => {
        this.absent = error instanceof RequestError && error.code === UNKNOWN_METHOD;
        if (!this.absent && this.#link.state.name === 'live') this.#say('', asSentence(sentence(error)));
      },
    );
  }

  take(snapshot: Snapshot): void {
    this.#snapshots += 1;
    this.absent = false;
    this.snapshot = snapshot;
  }

  /** Responses take longer than notifications: one that was overtaken is stale, and a newer notification is on its way. */
  #answered(snapshot: Snapshot, snapshots: number): void {
    if (snapshots === this.#snapshots) this.take(snapshot);
  }

  /** Requests an action; a refusal is shown on the card. Resolves with whether it was accepted. */
  async act(action: string, params: object, card: string): Promise<boolean> {
    this.dismiss(card);
    const snapshots = this.#snapshots;
    try {
      this.#answered(await this.ask(action, params), snapshots);
      return true;
    } catch (error) {
      this.#say(card, asSentence(sentence(error)));
      return false;
    }
  }

  dismiss(card: string): void {
    const { [card]: gone, ...rest } = this.problems;
    if (gone !== undefined) this.problems = rest;
  }

  protected ask<Answer = Snapshot>(what: string, params: object): Promise<Answer> {
    return this.#link.request<Answer>(`${this.#method}/${what}`, params);
  }

  #say(card: string, problem: string): void {
    this.problems = { ...this.problems, [card]: problem };
  }
}
