import type { Approval } from '../connection/agents-wire';
import type { SessionUpdate } from '../connection/wire';
import type { PlanView } from '../plan/plan';
import type { Row } from '../timeline/rows';

export type Body<K extends SessionUpdate['sessionUpdate']> = Extract<SessionUpdate, { sessionUpdate: K }>;

/** An agent's question and its state. */
export interface Asked {
  /** The session of the asking delegate; null for the session itself. */
  sessionId: string | null;
  /** The row of the waiting call. */
  key: string;
  approval: Approval;
}

/**
 * The state of a session after part of its log. `apply` grows it in place: rows are replaced, never changed, except for
 * their lists of entries. `publish` copies the rows of delegates into it.
 */
export interface Fold {
  rows: Row[];
  plan: PlanView | null;
  title: string | null;
  mode: string | null;
  /** The number of updates received. */
  updates: number;
  /** The newest entry applied. */
  seq: number;
  /** The log says that a turn is running. */
  working: boolean;
  /** The row index of each tool call. */
  calls: Map<string, number>;
  /** Calls that have not ended. */
  open: Set<string>;
  /** Questions by the id of the approval, those of delegates included. */
  asked: Map<string, Asked>;
  /** The state of each delegate, by the call that started it. */
  delegates: Map<string, Fold>;
  /** Calls whose delegates changed since `publish`. */
  touched: Set<string>;
  /** The delegate's session id; null for the session itself. */
  delegate: string | null;
  /** Prefix of every row key, which keeps the rows of delegates apart. */
  prefix: string;
}

export function emptyFold(): Fold {
  return {
    rows: [],
    plan: null,
    title: null,
    mode: null,
    updates: 0,
    seq: 0,
    working: false,
    calls: new Map(),
    open: new Set(),
    asked: new Map(),
    delegates: new Map(),
    touched: new Set(),
    delegate: null,
    prefix: '',
  };
}
