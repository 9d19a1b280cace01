import type { Link } from '../connection/link.svelte';
import { asSentence, sentence } from '../connection/sentence';
import { Watched } from '../connection/watched.svelte';
import { METHODS, type ModelCard, type ModelSettings, type ModelsSnapshot } from '../connection/wire';
import { unavailable } from './model-words';

/** What can be done with one model, or with the one in use. */
export type Deed = 'download' | 'pause' | 'cancel' | 'verify' | 'repair' | 'remove' | 'add' | 'use' | 'load' | 'unload';

/** Settings wait this long for the next key, in milliseconds. */
const PAUSE = 500;

/** The local models as the bridge tells of them, and what a person asks it to do with them. */
export class Models extends Watched<ModelsSnapshot> {
  /** Why the settings were not taken. */
  refused = $state<string | null>(null);
  saving = $state<'idle' | 'saving' | 'saved'>('idle');
  /** What has been changed here and not been taken by the bridge. */
  changes = $state.raw<Partial<ModelSettings>>({});

  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(link: () => Link) {
    super(link, METHODS.models);
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
      this.take(await this.ask('configure', { settings: sent }));
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
}
