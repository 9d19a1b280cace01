import { RequestError } from '@agentclientprotocol/sdk';
import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/link.svelte';
import { METHODS, type ModelCard, type ModelSettings, type ModelsSnapshot } from '../connection/wire';
import { asSentence, unavailable } from './model-words';

/** What can be done with one model, or with the one in use. */
export type Deed = 'download' | 'pause' | 'cancel' | 'verify' | 'repair' | 'remove' | 'add' | 'use' | 'load' | 'unload';

/** JSON-RPC's "method not found". */
const UNKNOWN_METHOD = -32601;

/** Settings wait this long for the next key, in milliseconds. */
const PAUSE = 500;

/** The local models as the bridge tells of them, and what a person asks it to do with them. */
export class Models {
  snapshot = $state.raw<ModelsSnapshot | null>(null);
  /** This bridge has no local models. */
  absent = $state(false);
  /** Why the last wish was refused, by the id of its card; `''` for those that belong to none. */
  problems = $state.raw<Readonly<Record<string, string>>>({});
  /** Why the settings were not taken. */
  refused = $state<string | null>(null);
  saving = $state<'idle' | 'saving' | 'saved'>('idle');
  /** What has been changed here and not been taken by the bridge. */
  changes = $state.raw<Partial<ModelSettings>>({});

  readonly #link: () => Link;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(link: () => Link) {
    this.#link = link;
  }

  get inUse(): ModelCard | null {
    return this.snapshot?.models.find((card) => card.inUse) ?? null;
  }

  /** What the model in use is called. */
  get name(): string {
    return this.inUse?.name ?? 'GPTOSS 20B';
  }

  /** Why the local model cannot answer a prompt now; null when it can, loading included. */
  get unavailable(): string | null {
    return this.inUse === null ? 'not set up' : unavailable(this.inUse.status);
  }

  /** It is worth a try to ask the local model: what failed to load is loaded again by the next prompt. */
  get askable(): boolean {
    const card = this.inUse;
    return this.unavailable === null || (card?.status.state === 'error' && card.path !== null && card.verified !== false);
  }

  /** A connection is up: follow the models on it. */
  connected(): void {
    void this.#ask('list', { watch: true }).then(
      (snapshot) => this.take(snapshot),
      (error: unknown) => {
        this.absent = error instanceof RequestError && error.code === UNKNOWN_METHOD;
        if (!this.absent && this.#link().state.name === 'live') this.#say('', asSentence(sentence(error)));
      },
    );
  }

  take(snapshot: ModelsSnapshot): void {
    this.absent = false;
    this.snapshot = snapshot;
  }

  /** Asks for a deed; a refusal is shown at the card. Resolves with whether it was taken. */
  async act(deed: Deed, params: object, card: string): Promise<boolean> {
    this.dismiss(card);
    try {
      this.take(await this.#ask(deed, params));
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

  /** Saves settings a moment after the last change; what was not changed here is left to the other clients. */
  configure(change: Partial<ModelSettings>): void {
    this.changes = { ...this.changes, ...change };
    this.saving = 'saving';
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#save(), PAUSE);
  }

  async #save(): Promise<void> {
    const sent = this.changes;
    try {
      this.take(await this.#ask('configure', { settings: sent }));
      if (sent !== this.changes) return;
      this.changes = {};
      this.refused = null;
      this.saving = 'saved';
    } catch (error) {
      if (sent !== this.changes) return;
      this.refused = asSentence(sentence(error));
      this.saving = 'idle';
    }
  }

  #ask(what: string, params: object): Promise<ModelsSnapshot> {
    return this.#link().request<ModelsSnapshot>(`${METHODS.models}/${what}`, params);
  }

  #say(card: string, problem: string): void {
    this.problems = { ...this.problems, [card]: problem };
  }
}
