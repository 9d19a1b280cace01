import type { Link } from '../connection/link.svelte';
import { asSentence, sentence } from '../connection/errors.svelte';
import { SnapshotClient } from '../connection/snapshot-client.svelte';
import { METHODS } from '../connection/protocol';
import type { ModelCard, ModelSettings, ModelsSnapshot } from '../connection/wire';
import { unavailable } from './model-words';

export type ModelAction =
  'download' | 'pause' | 'cancel' | 'verify' | 'repair' | 'remove' | 'add' | 'use' | 'load' | 'unload';

/** Debounce of settings, in milliseconds. */
const PAUSE = 500;

/** The local models, from the bridge's snapshots, and the actions on them. */
export class Models extends SnapshotClient<ModelsSnapshot> {
  /** Why the settings were refused. */
  refused = $state<string | null>(null);
  saving = $state<'idle' | 'saving' | 'saved'>('idle');
  /** Changes not yet accepted by the bridge. */
  changes = $state.raw<Partial<ModelSettings>>({});

  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(link: Link) {
    super(link, METHODS.models);
  }

  get inUse(): ModelCard | null {
    return this.snapshot?.models.find((card) => card.inUse) ?? null;
  }

  /** The display name of the model in use. */
  get name(): string {
    return this.inUse?.name ?? 'GPTOSS 20B';
  }

  /** Why the local model cannot answer a prompt now; null if it can, loading included. */
  get unavailable(): string | null {
    return this.inUse === null ? 'not set up' : unavailable(this.inUse.status);
  }

  /** Whether the local model can be asked; the next prompt retries a failed load. */
  get askable(): boolean {
    const card = this.inUse;
    return (
      this.unavailable === null || (card?.status.state === 'error' && card.path !== null && card.verified !== false)
    );
  }

  /** Saves the settings shortly after the last change. Only the changed fields are sent. */
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
