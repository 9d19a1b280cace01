import { Attempt } from '../connection/errors.svelte';
import type { Link } from '../connection/link.svelte';
import { METHODS } from '../connection/protocol';
import type { UsageBy, UsageReport, UsageSum } from '../connection/wire';

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

/** The rows of the table. */
export type Rows = Exclude<UsageBy, 'day'>;

/** Reports that belong together. */
export interface Shown {
  by: Rows;
  days: UsageReport;
  rows: UsageReport;
}

/** The tokens and costs of all agents: by day, and by one other property. */
export class Usage {
  range = $state<Range>('30d');
  by = $state<Rows>('agent');
  shown = $state.raw<Shown | null>(null);
  /** A new one for each request: an earlier one may still run. */
  attempt = $state.raw(new Attempt());
  readonly #link: Link;

  constructor(link: Link) {
    this.#link = link;
  }

  /** The tokens and costs of one session, with its sub-agents; null if its log has none. */
  async ofSession(provider: string, session: string): Promise<UsageSum | null> {
    const query = { by: 'agent', provider, session };
    const { totals } = await this.#link.request<UsageReport>(METHODS.usageReport, query);
    return totals.tokens === 0 ? null : totals;
  }

  /** Reads the sums again, until all logs are read. */
  async read(): Promise<void> {
    const attempt = new Attempt();
    this.attempt = attempt;
    const { range, by } = this;
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const ask = (by: UsageBy) =>
      this.#link.request<UsageReport>(METHODS.usageReport, {
        by,
        timeZone,
        ...(range === null ? {} : { since: range }),
      });
    for (;;) {
      const succeeded = await attempt.run(async () => {
        const [days, rows] = await Promise.all([ask('day'), ask(by)]);
        if (this.attempt === attempt) this.shown = { by, days, rows };
      });
      const isReading = (this.shown?.days.reading ?? null) !== null;
      if (!succeeded || this.attempt !== attempt || !isReading) return;
      await new Promise((resolve) => setTimeout(resolve, LOOK));
      if (this.attempt !== attempt) return;
    }
  }

  /** Ends looking. */
  stop(): void {
    this.attempt = new Attempt();
  }
}
