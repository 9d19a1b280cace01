import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import { METHODS } from '../connection/protocol';
import type { SuggestedFolder, SuggestedFolders, WorkspaceInfo, WorkspacesResult } from '../connection/wire';

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

  /** Where a folder that no longer exists may be now, the best first. */
  async suggest(from: string): Promise<readonly SuggestedFolder[]> {
    const { folders } = await this.#link.request<SuggestedFolders>(`${METHODS.workspaces}/suggest`, { from });
    return folders;
  }

  /** Stores where a folder is now; null forgets it. */
  async map(from: string, to: string | null): Promise<void> {
    await this.#link.request<unknown>(`${METHODS.workspaces}/map`, { from, to });
  }
}
