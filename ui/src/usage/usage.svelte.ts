import { Attempt } from '../connection/errors.svelte';
import type { Link } from '../connection/link.svelte';
import { METHODS } from '../connection/protocol';
import type { UsageBy, UsageReport } from '../connection/wire';

/** The first day of a report; null for everything. */
export const RANGES = [
  ['7d', '7 days'],
  ['30d', '30 days'],
  ['90d', '90 days'],
  [null, 'All'],
] as const;

export type Range = (typeof RANGES)[number][0];

/** Pause between two looks at logs that are being read, in milliseconds. */
const LOOK = 1000;

/** The tokens and costs of all agents: by day, and by one other property. */
export class Usage {
  range = $state<Range>('30d');
  by = $state<Exclude<UsageBy, 'day'>>('agent');
  days = $state.raw<UsageReport | null>(null);
  rows = $state.raw<UsageReport | null>(null);
  readonly attempt = new Attempt();
  readonly #link: Link;
  /** Counts requests: an answer to an earlier one is dropped. */
  #asked = 0;

  constructor(link: Link) {
    this.#link = link;
  }

  /** Reads the sums again, until all logs are read. */
  async read(): Promise<void> {
    const asked = ++this.#asked;
    const { range, by } = this;
    const since = range === null ? {} : { since: range };
    const ask = (by: UsageBy) => this.#link.request<UsageReport>(METHODS.usageReport, { by, ...since });
    for (;;) {
      const succeeded = await this.attempt.run(async () => {
        const days = await ask('day');
        const rows = await ask(by);
        if (asked === this.#asked) [this.days, this.rows] = [days, rows];
      });
      if (!succeeded || asked !== this.#asked || (this.days?.reading ?? null) === null) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK));
      if (asked !== this.#asked) return;
    }
  }

  /** Ends looking. */
  stop(): void {
    this.#asked += 1;
  }
}
