import type { Approval } from '../connection/agents-wire';

/** A file change, as the text before and after; `before` is null for a new file. */
export interface Change {
  path: string;
  before: string | null;
  after: string;
  /** The text was cut and is incomplete. */
  truncated: boolean;
}

export interface Question {
  approval: Approval;
  /** The session that receives the answer: the delegate's if a delegate asks. */
  sessionId: string;
  /** The session that shows the question. */
  shownIn: string;
  title: string;
  workspace: string;
  changes: readonly Change[];
}
