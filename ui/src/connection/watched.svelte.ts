import { RequestError } from '@agentclientprotocol/sdk';
import type { Link } from './link.svelte';
import { asSentence, sentence } from './sentence';

/** JSON-RPC's "method not found". */
const UNKNOWN_METHOD = -32601;

/** Something that the bridge tells of in whole snapshots, and that people ask it to change. */
export class Watched<Snapshot> {
  snapshot = $state.raw<Snapshot | null>(null);
  /** This bridge has nothing of the kind. */
  absent = $state(false);
  /** Why the last wish was refused, by the id of its card; `''` for those that belong to none. */
  problems = $state.raw<Readonly<Record<string, string>>>({});

  readonly #link: () => Link;
  readonly #method: string;
  /** Snapshots that were told. */
  #told = 0;

  /** Requests go to `method` with `/list` and the like behind it. */
  constructor(link: () => Link, method: string) {
    this.#link = link;
    this.#method = method;
  }

  /** A connection is up: follow it there. */
  connected(): void {
    const told = this.#told;
    void this.ask<Snapshot>('list', { watch: true }).then(
      (snapshot) => this.#answered(snapshot, told),
      (error: unknown) => {
        this.absent = error instanceof RequestError && error.code === UNKNOWN_METHOD;
        if (!this.absent && this.#link().state.name === 'live') this.#say('', asSentence(sentence(error)));
      },
    );
  }

  /** The bridge tells how everything stands. */
  take(snapshot: Snapshot): void {
    this.#told += 1;
    this.absent = false;
    this.snapshot = snapshot;
  }

  /** Answers come a longer way than what is told: one that was overtaken is old. What is newer still is told soon. */
  #answered(snapshot: Snapshot, told: number): void {
    if (told === this.#told) this.take(snapshot);
  }

  /** Asks for a deed; a refusal is shown at the card. Resolves with whether it was taken. */
  async act(deed: string, params: object, card: string): Promise<boolean> {
    this.dismiss(card);
    const told = this.#told;
    try {
      this.#answered(await this.ask(deed, params), told);
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
    return this.#link().request<Answer>(`${this.#method}/${what}`, params);
  }

  #say(card: string, problem: string): void {
    this.problems = { ...this.problems, [card]: problem };
  }
}
