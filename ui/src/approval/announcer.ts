import { notifyApproval, withdrawApproval } from '../install/notifications';
import type { Question } from './question';

/**
 * Notifies once for each pending question and withdraws the notification when it is settled. For browsers and phones:
 * the desktop shell posts its own, since this page may be suspended while its window is hidden.
 */
export class Announcer {
  readonly #told = new Set<string>();

  tell(questions: readonly Question[]): void {
    const waiting = new Set(questions.map(({ approval }) => approval.id));
    for (const { approval, shownIn } of questions) {
      if (this.#told.has(approval.id)) continue;
      this.#told.add(approval.id);
      notifyApproval({ id: approval.id, sessionId: shownIn, title: approval.title, agent: approval.agent });
    }
    for (const id of this.#told) {
      if (waiting.has(id)) continue;
      this.#told.delete(id);
      withdrawApproval(id);
    }
  }
}
