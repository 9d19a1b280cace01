import type { Approval } from '../connection/agents-wire';

/** What an agent asks, and where. */
export interface Question {
  approval: Approval;
  /** The session that is told the answer: a delegate's, where it is the delegate that asks. */
  sessionId: string;
  /** The session that a person sees it in. */
  shownIn: string;
  title: string;
  workspace: string;
}
