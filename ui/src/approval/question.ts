import type { Approval } from '../connection/agents-wire';

/** A change of a file: texts before and after; `before` is null for a new one. */
export interface Change {
  path: string;
  before: string | null;
  after: string;
  /** A text was cut: this is not all of it. */
  truncated: boolean;
}

/** What an agent asks, and where. */
export interface Question {
  approval: Approval;
  /** The session that is told the answer: a delegate's, where it is the delegate that asks. */
  sessionId: string;
  /** The session that a person sees it in. */
  shownIn: string;
  title: string;
  workspace: string;
  /** What it would change in files, where the agent says so. */
  changes: readonly Change[];
}
