import { browserStorage } from '../backend/storage';
import type { History } from '../history/history.svelte';
import type { Labels } from '../labels/labels.svelte';
import { ownEntry, pastEntry, type Entry } from '../session/entry';
import { merged, type SessionList } from '../session/session-list.svelte';
import { conditions, emptyWords, pastFilter, selected, UNFILTERED, type Filter } from './filter';
import { grouped, linesOf, listed, type Grouping, type Loaded } from './groups';
import { Seen } from './seen.svelte';

const GROUPING = 'openagents.grouping';
const NONE: Loaded = { entries: [], reached: -Infinity };

/** The sidebar's list of all sessions, derived step by step so that each step reruns only when its input changes. */
export class Listing {
  filter = $state.raw<Filter>(UNFILTERED);
  grouping = $state<Grouping>(browserStorage.read(GROUPING) === 'workspace' ? 'workspace' : 'time');
  readonly seen = new Seen();

  readonly #list: SessionList;
  readonly #history: History;
  readonly #labels: Labels;
  readonly #now: () => number;

  /** Changes at midnight, which regroups the days. */
  readonly #today = $derived.by(() => new Date(this.#now()).setHours(0, 0, 0, 0));
  readonly #ours = $derived.by(() => this.#list.items.map(ownEntry));
  /** The log of an agent that is hosted here is the same conversation as ours. */
  readonly #past = $derived.by(() =>
    this.#history.items.filter(({ hostedBy }) => hostedBy === undefined).map(pastEntry),
  );
  readonly #kept = $derived.by(() => {
    const { hidden } = this.#labels;
    return hidden.size === 0 ? this.#ours : this.#ours.filter(({ key }) => !hidden.has(key));
  });
  readonly #entries = $derived.by(() => merged(this.#kept, this.#past));
  /** A filter may exclude one of the two lists, so that only the other has to load more. */
  readonly #listed = $derived.by(() => {
    const ours = { entries: this.#kept, reached: this.#list.reached };
    const past = { entries: this.#past, reached: this.#history.reached };
    return listed(this.#theirsOnly ? NONE : ours, this.#oursOnly ? NONE : past);
  });
  readonly #selected = $derived.by(() => selected(this.#listed, this.filter, new Date(this.#today)));
  readonly #lines = $derived.by(() => linesOf(grouped(this.#selected, this.grouping, new Date(this.#today))));
  readonly #agents = $derived.by(() => {
    const names = new Map(this.#history.items.map(({ provider, agent }) => [provider, agent]));
    return [...names].sort(([, a], [, b]) => a.localeCompare(b));
  });
  readonly #conditions = $derived.by(() => conditions(this.filter, (provider) => this.agentName(provider)));

  constructor(list: SessionList, history: History, labels: Labels, now: () => number) {
    this.#list = list;
    this.#history = history;
    this.#labels = labels;
    this.#now = now;
  }

  /** Headings and sessions. */
  get lines(): ReturnType<typeof linesOf> {
    return this.#lines;
  }

  get count(): number {
    return this.#selected.length;
  }

  /** All loaded sessions, newest first. */
  get entries(): readonly Entry[] {
    return this.#entries;
  }

  /** Other agents with sessions, as provider and name. */
  get agents(): readonly [string, string][] {
    return this.#agents;
  }

  /** The filter's conditions, in words. */
  get conditions(): readonly string[] {
    return this.#conditions.map(({ words }) => words);
  }

  get more(): boolean {
    return (!this.#theirsOnly && this.#list.more) || (!this.#oursOnly && this.#history.more);
  }

  /** Changes with each loaded page. */
  get reached(): string {
    return `${this.#list.items.length} ${this.#list.reached} ${this.#history.items.length} ${this.#history.reached}`;
  }

  get emptyWords(): string {
    return emptyWords(this.#entries, this.filter, new Date(this.#today), (provider) => this.agentName(provider));
  }

  agentName(provider: string): string {
    return provider === '' ? 'OpenAgents' : (this.#agents.find(([known]) => known === provider)?.[1] ?? provider);
  }

  /** The entry of a session, if loaded. */
  find(provider: string | null, id: string): Entry | undefined {
    if (provider !== null) {
      const past = this.#history.items.find((item) => item.provider === provider && item.id === id);
      return past === undefined ? undefined : pastEntry(past);
    }
    const item = this.#list.find(id);
    return item === undefined ? undefined : ownEntry(item);
  }

  choose(change: Partial<Filter>): void {
    this.filter = { ...this.filter, ...change };
    // The bridge filters older ones; ours are all loaded.
    const narrows = this.#conditions.length > 0 && !this.#oursOnly;
    this.#history.narrow(narrows ? pastFilter(this.filter, new Date(this.#today)) : null);
  }

  clear(): void {
    this.choose(UNFILTERED);
  }

  group(by: Grouping): void {
    this.grouping = by;
    browserStorage.write(GROUPING, by);
  }

  /** Loads a page of older sessions of each list. */
  async readMore(): Promise<void> {
    await Promise.all([
      this.#theirsOnly ? undefined : this.#list.readMore().catch(() => undefined),
      this.#oursOnly ? undefined : this.#history.readMore(),
    ]);
  }

  get #oursOnly(): boolean {
    return this.filter.provider === '';
  }

  get #theirsOnly(): boolean {
    return this.filter.provider !== null && this.filter.provider !== '';
  }
}
