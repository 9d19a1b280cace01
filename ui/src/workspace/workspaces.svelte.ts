import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import { METHODS } from '../connection/protocol';
import type { WorkspaceInfo, WorkspacesResult } from '../connection/wire';

/** The folders that agents have worked in, newest first. */
export class Workspaces {
  known = $state.raw<readonly WorkspaceInfo[]>([]);
  state = $state<'unread' | 'reading' | 'read'>('unread');
  problem = $state<string | null>(null);
  root = $state<string | null>(null);

  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  async read(): Promise<void> {
    if (this.state === 'unread') this.state = 'reading';
    try {
      const answer = await this.#link.request<WorkspacesResult>(METHODS.workspaces, {});
      this.known = answer.workspaces;
      this.root = answer.root ?? null;
      this.problem = null;
    } catch (error) {
      if (this.#link.state.name === 'live') this.problem = sentence(error);
    }
    this.state = 'read';
  }
}
