import type { Link } from '../connection/link.svelte';
import { METHODS } from '../connection/protocol';
import type { SuggestedFolder, SuggestedFolders } from '../connection/wire';

/** Folders that were moved: where they may be, and where the user says they are. */
export class MovedFolders {
  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  async suggest(from: string): Promise<readonly SuggestedFolder[]> {
    const { folders } = await this.#link.request<SuggestedFolders>(`${METHODS.workspaces}/suggest`, { from });
    return folders;
  }

  /** Stores where a folder is now; null forgets it. */
  async map(from: string, to: string | null): Promise<void> {
    await this.#link.request<unknown>(`${METHODS.workspaces}/map`, { from, to });
  }
}
