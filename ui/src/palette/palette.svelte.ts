import { METHODS } from '../connection/protocol';
import type { PastSession } from '../connection/wire';
import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';

/** A session with a passage that matches a query. */
interface FoundSession extends PastSession {
  /** Log line; 0 for a match in the title. */
  line: number;
  matches: number;
  snippet?: string;
  /** The kind of text that matches. */
  kind?: FoundKind;
}

export type FoundKind = 'title' | 'prompt' | 'answer' | 'call' | 'file';

/** What a search has left out. */
export interface NotSearched {
  /** Sessions searched only in part. */
  sessionEnds: number;
  /** Prompts, answers and calls searched only in part. */
  longMessages: number;
  toolOutput: boolean;
}

interface SearchAnswer {
  sessions: FoundSession[];
  more: boolean;
  indexing: { done: number; total: number };
  notSearched: NotSearched;
  /** Timed out before all logs were searched. */
  timedOut?: boolean;
}

/** Milliseconds without a key before the index is asked. */
const PAUSE = 40;

/** The palette's search and its results for the newest query. */
export class Search {
  found = $state.raw<readonly FoundSession[]>([]);
  /** The query that `found` answers. */
  answered = $state('');
  indexing = $state.raw({ done: 0, total: 0 });
  problem = $state<string | null>(null);
  /** What the answer leaves out; null without an answer. */
  left = $state.raw<NotSearched | null>(null);
  /** Whole logs are being searched. */
  reading = $state(false);
  /** Timed out before all logs were searched. */
  timedOut = $state(false);

  readonly #link: Link;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #query = '';

  constructor(link: Link) {
    this.#link = link;
  }

  /** Searches for a query, debounced. */
  ask(query: string, cwd: string | null): void {
    clearTimeout(this.#timer);
    this.#query = query;
    if (query.trim() === '') {
      this.found = [];
      this.left = null;
      this.answered = query;
      return;
    }
    this.#timer = setTimeout(() => void this.#search(query, cwd, false), PAUSE);
  }

  /** Searches whole logs for the current query. */
  async readLogs(cwd: string | null): Promise<void> {
    if (this.reading || this.#query.trim() === '') return;
    clearTimeout(this.#timer);
    this.reading = true;
    await this.#search(this.#query, cwd, true);
    this.reading = false;
  }

  async #search(query: string, cwd: string | null, logs: boolean): Promise<void> {
    try {
      const answer = await this.#link.request<SearchAnswer>(`${METHODS.sessions}/search`, {
        query,
        limit: 20,
        ...(logs ? { logs } : {}),
        ...(cwd === null ? {} : { cwd }),
      });
      if (query !== this.#query) return;
      this.found = answer.sessions;
      this.indexing = answer.indexing;
      this.left = answer.notSearched;
      this.timedOut = answer.timedOut ?? false;
      this.answered = query;
      this.problem = null;
    } catch (error) {
      if (query === this.#query && this.#link.state.name === 'live') this.problem = sentence(error);
    }
  }
}
