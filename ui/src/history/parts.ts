import type { Update } from '../connection/protocol';
import { applyFolded, emptyFold, endThought, publish, settle } from '../session/fold';
import type { Row } from '../session/rows';

/** Most updates in a part: appending folds the whole part again. */
const LONG = 2_000;

/** Consecutive updates of a log, folded on their own. */
interface Part {
  /** The number of its first update. */
  at: number;
  updates: Update[];
  /** Calls that begin in this part. */
  begins: Set<string>;
  /** Updates of calls that begin in no loaded part. */
  strays: Map<string, Update[]>;
  /** Updates that are folded with the part in which their call begins. */
  away: Set<Update>;
  /** Updates of later parts for its calls. */
  late: Update[];
  rows: Row[];
}

/** The rows of a partly loaded log that grows in both directions. Adding a part costs the size of that part only. */
export class Parts {
  #parts: Part[] = [];
  readonly #prefix: string;
  #top: number;
  #bottom: number;

  /** Later parts number rows up from `start`, earlier ones down. `prefix` starts every row key. */
  constructor(start: number, prefix = '') {
    this.#top = this.#bottom = start;
    this.#prefix = prefix;
  }

  get rows(): Row[] {
    return this.#parts.flatMap(({ rows }) => rows);
  }

  find(seq: number): Update | undefined {
    for (const { updates } of this.#parts) {
      const found = updates.find((update) => update.seq === seq);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  addAbove(updates: readonly Update[]): void {
    this.#top -= updates.length;
    const part = empty(this.#top);
    this.#parts.unshift(part);
    const changed = this.#append(part, updates);
    for (const later of this.#parts.slice(1)) {
      for (const [call, found] of later.strays) {
        if (!part.begins.has(call)) continue;
        later.strays.delete(call);
        part.late.push(...found);
        for (const update of found) later.away.add(update);
        changed.add(later);
      }
    }
    this.#fold(changed);
  }

  addBelow(updates: readonly Update[]): void {
    const last = this.#parts.at(-1);
    const part = last !== undefined && last.updates.length + updates.length <= LONG ? last : empty(this.#bottom);
    if (part !== last) this.#parts.push(part);
    this.#bottom += updates.length;
    const changed = this.#append(part, updates);
    // A thought ends when something follows it.
    if (last !== undefined) changed.add(last);
    this.#fold(changed);
  }

  #fold(changed: ReadonlySet<Part>): void {
    for (const [at, part] of this.#parts.entries())
      if (changed.has(part)) fold(part, this.#parts[at + 1], this.#prefix);
  }

  #append(part: Part, updates: readonly Update[]): Set<Part> {
    const changed = new Set([part]);
    for (const update of updates) {
      part.updates.push(update);
      const call = callOf(update);
      if (call === undefined || part.begins.has(call)) continue;
      if (begins(update)) {
        part.begins.add(call);
        continue;
      }
      const owner = this.#parts.find((other) => other.begins.has(call));
      if (owner === undefined) {
        part.strays.set(call, [...(part.strays.get(call) ?? []), update]);
        continue;
      }
      owner.late.push(update);
      part.away.add(update);
      changed.add(owner);
    }
    return changed;
  }
}

function empty(at: number): Part {
  return { at, updates: [], begins: new Set(), strays: new Map(), away: new Set(), late: [], rows: [] };
}

/** The call whose row an update belongs to. */
function callOf({ params: { update, _meta } }: Update): string | undefined {
  const { parentCallId } = _meta?.openagents ?? {};
  if (parentCallId !== undefined) return parentCallId;
  return update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update'
    ? update.toolCallId
    : undefined;
}

function begins({ params: { update, _meta } }: Update): boolean {
  return update.sessionUpdate === 'tool_call' && _meta?.openagents?.parentCallId === undefined;
}

function fold(part: Part, next: Part | undefined, prefix: string): void {
  const folded = { ...emptyFold(), updates: part.at, prefix };
  for (const update of part.updates) {
    // Counted too: row keys contain the update number and must stay stable.
    if (part.away.has(update)) folded.updates += 1;
    else applyFolded(folded, update);
  }
  const [after] = next?.updates ?? [];
  if (after !== undefined) endThought(folded, after);
  for (const update of part.late) applyFolded(folded, update);
  // The log does not say whether a call without a result is still running.
  settle(folded);
  publish(folded);
  part.rows = folded.rows;
}
