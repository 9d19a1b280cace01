import type { PastSession } from '../connection/history-wire';
import type { Link } from '../connection/link.svelte';
import { sentence } from '../connection/errors.svelte';
import { METHODS } from '../connection/wire';

/** A session with a passage that has the words of a query. */
interface FoundSession extends PastSession {
  /** Line of its log; 0 if its title has the words. */
  line: number;
  matches: number;
  snippet?: string;
  /** The kind of text that has the words. */
  kind?: FoundKind;
}

export type FoundKind = 'title' | 'prompt' | 'answer' | 'call' | 'file';

/** What a search has left out. */
export interface NotSearched {
  /** Sessions of which only the beginning was searched. */
  sessionEnds: number;
  /** Prompts, answers and calls of which only the beginning was searched. */
  longMessages: number;
  toolOutput: boolean;
}

interface SearchAnswer {
  sessions: FoundSession[];
  more: boolean;
  indexing: { done: number; total: number };
  notSearched: NotSearched;
  /** The time was over before all logs were read. */
  timedOut?: boolean;
}

/** Milliseconds without a key before the index is asked. */
const PAUSE = 40;

/** The search of the palette: what it found for the newest query. */
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
  /** Not all logs were read in time. */
  timedOut = $state(false);

  readonly #link: Link;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #asked = '';

  constructor(link: Link) {
    this.#link = link;
  }

  /** Searches for a query, unless another one follows at once. */
  ask(query: string, cwd: string | null): void {
    clearTimeout(this.#timer);
    this.#asked = query;
    if (query.trim() === '') {
      this.found = [];
      this.left = null;
      this.answered = query;
      return;
    }
    this.#timer = setTimeout(() => void this.#search(query, cwd, false), PAUSE);
  }

  /** Searches whole logs for the query that was asked. */
  async readLogs(cwd: string | null): Promise<void> {
    if (this.reading || this.#asked.trim() === '') return;
    clearTimeout(this.#timer);
    this.reading = true;
    await this.#search(this.#asked, cwd, true);
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
      if (query !== this.#asked) return;
      this.found = answer.sessions;
      this.indexing = answer.indexing;
      this.left = answer.notSearched;
      this.timedOut = answer.timedOut ?? false;
      this.answered = query;
      this.problem = null;
    } catch (error) {
      if (query === this.#asked && this.#link.state.name === 'live') this.problem = sentence(error);
    }
  }
}
