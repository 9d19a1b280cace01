import { METHODS } from '../connection/protocol';
import type { PastSession } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { asSentence, sentence } from '../connection/errors.svelte';
import type { Entry } from '../session/entry';
import type { SessionItem } from '../session/session-list.svelte';

/** Milliseconds during which an action can be undone. */
const UNDO = 8_000;

export interface Message {
  id: number;
  text: string;
  /** Undoes the action. */
  undo?: () => void;
}

/** The lists to update optimistically. */
export interface Lists {
  patchOwn: (id: string, change: Partial<SessionItem>) => SessionItem | undefined;
  patchPast: (provider: string, id: string, change: Partial<PastSession>) => PastSession | undefined;
  /** Deletes a session of ours; rejects with the reason if that fails. */
  remove: (id: string) => Promise<void>;
}

type Target = Pick<Entry, 'key' | 'id' | 'provider'>;

/** The user's changes to sessions: renaming, pinning, archiving, deleting. */
export class Labels {
  /** Recent actions that can be undone or that failed. */
  messages = $state.raw<readonly Message[]>([]);
  /** Keys of sessions pending deletion. */
  hidden = $state.raw<ReadonlySet<string>>(new Set());
  renaming = $state.raw<Entry | null>(null);

  readonly #link: Link;
  readonly #lists: Lists;
  #count = 0;

  constructor(link: Link, lists: Lists) {
    this.#link = link;
    this.#lists = lists;
  }

  pin(target: Target, pinned: boolean): Promise<void> {
    return this.#set(target, { pinned }, pinned ? 'Not pinned' : 'Not unpinned');
  }

  archive(target: Target, archived: boolean): void {
    void this.#set(target, { archived }, archived ? 'Not archived' : 'Not restored');
    this.#say(
      archived ? 'Session archived.' : 'Session restored from the archive.',
      () => void this.#set(target, { archived: !archived }, 'Not undone'),
    );
  }

  /** Without a title, restores the session's own. */
  rename(target: Target, title: string): Promise<void> {
    return this.#set(target, { title: title.trim() === '' ? null : title.trim() }, 'Not renamed');
  }

  /** Deletes one of our sessions unless undone. Leaving the page first keeps it. */
  delete({ key, id }: Target): void {
    this.#later(key, 'Session deleted.', () => this.#lists.remove(id));
  }

  /** Deletes the kept copy of another agent's session unless undone. */
  forget({ key }: Target, forget: () => Promise<void>): void {
    this.#later(key, 'Kept copy deleted.', forget);
  }

  /** Shows a message for a while. */
  notify(text: string): void {
    this.#say(text);
  }

  dismiss(id: number): void {
    this.messages = this.messages.filter((message) => message.id !== id);
  }

  /** Hides a session, and deletes it unless undone. */
  #later(key: string, message: string, remove: () => Promise<void>): void {
    this.#hide(key, true);
    const timer = setTimeout(() => void this.#delete(key, remove), UNDO);
    this.#say(message, () => {
      clearTimeout(timer);
      this.#hide(key, false);
    });
  }

  async #delete(key: string, remove: () => Promise<void>): Promise<void> {
    try {
      await remove();
    } catch (error) {
      this.#fail('Not deleted', error);
    }
    this.#hide(key, false);
  }

  async #set(
    { id, provider }: Target,
    label: { title?: string | null; pinned?: boolean; archived?: boolean },
    failed: string,
  ): Promise<void> {
    const { patchOwn, patchPast } = this.#lists;
    const { title, ...marks } = label;
    // Only the bridge knows its own title.
    const shown = title === undefined || title === null ? marks : { ...marks, title };
    const before = provider === null ? patchOwn(id, shown) : patchPast(provider, id, shown);
    try {
      await this.#link.request(`${METHODS.sessions}/label`, {
        ...(provider === null ? {} : { provider }),
        id,
        ...label,
      });
    } catch (error) {
      if (before !== undefined) {
        const old = Object.fromEntries(Object.keys(shown).map((name) => [name, before[name as keyof typeof before]]));
        if (provider === null) patchOwn(id, old);
        else patchPast(provider, id, old);
      }
      this.#fail(failed, error);
    }
  }

  #hide(key: string, hidden: boolean): void {
    this.hidden = new Set(hidden ? [...this.hidden, key] : [...this.hidden].filter((other) => other !== key));
  }

  #fail(what: string, error: unknown): void {
    this.#say(`${what}: ${asSentence(sentence(error))}`);
  }

  #say(text: string, undo?: () => void): void {
    const id = (this.#count += 1);
    this.messages = [
      ...this.messages,
      undo === undefined ? { id, text } : { id, text, undo: () => this.#undo(id, undo) },
    ];
    setTimeout(() => this.dismiss(id), UNDO);
  }

  #undo(id: number, undo: () => void): void {
    this.dismiss(id);
    undo();
  }
}
