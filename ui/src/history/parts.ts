import type { Update } from '../connection/wire';
import { applyFolded, emptyFold, endThought, publish, settle } from '../session/fold';
import type { Row } from '../timeline/rows';

/** Updates that are appended to a part, at the most: all of a part is folded again with each addition. */
const LONG = 2_000;

/** Consecutive updates of a log, folded by themselves. */
interface Part {
  /** The number of its first update. */
  at: number;
  updates: Update[];
  /** The calls that begin in it. */
  begins: Set<string>;
  /** Updates of calls that begin in none of the parts. */
  strays: Map<string, Update[]>;
  /** Its updates that are folded with the part in which their call begins. */
  away: Set<Update>;
  /** Updates of later parts for its calls. */
  late: Update[];
  rows: Row[];
}

/** The rows of a log of which parts are read, upwards and downwards. What is added costs what it holds, not what is there. */
export class Parts {
  #parts: Part[] = [];
  readonly #prefix: string;
  #top: number;
  #bottom: number;

  /** Rows are numbered from `start`, upwards below it; `prefix` begins their keys. */
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
    // What follows a thought ends it.
    if (last !== undefined) changed.add(last);
    this.#fold(changed);
  }

  #fold(changed: ReadonlySet<Part>): void {
    for (const [at, part] of this.#parts.entries())
      if (changed.has(part)) fold(part, this.#parts[at + 1], this.#prefix);
  }

  /** Returns the parts that have to be folded again. */
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
    // Counted all the same: rows are named by the number of their update, and keep their names.
    if (part.away.has(update)) folded.updates += 1;
    else applyFolded(folded, update);
  }
  const [after] = next?.updates ?? [];
  if (after !== undefined) endThought(folded, after);
  for (const update of part.late) applyFolded(folded, update);
  // A call without a result may be running or not: the log does not tell.
  settle(folded);
  publish(folded);
  part.rows = folded.rows;
}
