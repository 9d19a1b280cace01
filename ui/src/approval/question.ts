import type { Approval } from '../connection/wire';
import { notifyApproval, withdrawApproval } from '../install/notifications';
import { plain } from '../kit/text';

/** A file change, as the text before and after; `before` is null for a new file. */
export interface Change {
  path: string;
  before: string | null;
  after: string;
  /** The text is incomplete. */
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

/** Characters of a notification. */
const MOST = 300;

/**
 * Notifies once for each pending question and withdraws the notification when it is settled. For browsers and phones:
 * the desktop shell posts its own, since this page may be suspended while its window is hidden.
 */
export class Announcer {
  readonly #notified = new Set<string>();

  update(questions: readonly Question[]): void {
    const waiting = new Set(questions.map(({ approval }) => approval.id));
    for (const { approval, shownIn } of questions) {
      if (this.#notified.has(approval.id)) continue;
      this.#notified.add(approval.id);
      notifyApproval({
        id: approval.id,
        sessionId: shownIn,
        title: short(approval.command?.text ?? approval.title),
        agent: plain(approval.agent),
      });
    }
    for (const id of this.#notified) {
      if (waiting.has(id)) continue;
      this.#notified.delete(id);
      withdrawApproval(id);
    }
  }
}

/** The start of the command or the title; an agent's title need not say what runs. */
function short(text: string): string {
  const characters = [...plain(text).replace(/[\n\t]/g, ' ')];
  return characters.length > MOST ? `${characters.slice(0, MOST).join('')}…` : characters.join('');
}
