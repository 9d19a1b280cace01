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
  #told = 0;

  /** Requests go to `method` plus `/list` and the like; `read` is the one for the snapshot. */
  constructor(link: Link, method: string, read = 'list') {
    this.#link = link;
    this.#method = method;
    this.#read = read;
  }

  connected(): void {
    const told = this.#told;
    void this.ask<Snapshot>(this.#read, { watch: true }).then(
      (snapshot) => this.#answered(snapshot, told),
      (error: unknown) => {
        this.absent = error instanceof RequestError && error.code === UNKNOWN_METHOD;
        if (!this.absent && this.#link.state.name === 'live') this.#say('', asSentence(sentence(error)));
      },
    );
  }

  take(snapshot: Snapshot): void {
    this.#told += 1;
    this.absent = false;
    this.snapshot = snapshot;
  }

  /** Responses take longer than notifications: one that was overtaken is stale, and a newer notification is on its way. */
  #answered(snapshot: Snapshot, told: number): void {
    if (told === this.#told) this.take(snapshot);
  }

  /** Requests an action; a refusal is shown on the card. Resolves with whether it was accepted. */
  async act(action: string, params: object, card: string): Promise<boolean> {
    this.dismiss(card);
    const told = this.#told;
    try {
      this.#answered(await this.ask(action, params), told);
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
