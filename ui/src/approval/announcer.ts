import { notifyApproval, withdrawApproval } from '../install/notifications';
import type { Question } from './question';

/** Notifies once for each pending question and withdraws the notification when it is settled. */
export class Announcer {
  readonly #told = new Set<string>();

  /** `say` shows a desktop notification; absent in a browser, which has its own. */
  constructor(private readonly say: ((title: string, body: string) => void) | undefined) {}

  tell(questions: readonly Question[]): void {
    const waiting = new Set(questions.map(({ approval }) => approval.id));
    for (const { approval, shownIn } of questions) {
      if (this.#told.has(approval.id)) continue;
      this.#told.add(approval.id);
      this.say?.(`${approval.agent} is waiting`, approval.title);
      notifyApproval({ id: approval.id, sessionId: shownIn, title: approval.title, agent: approval.agent });
    }
    for (const id of this.#told) {
      if (waiting.has(id)) continue;
      this.#told.delete(id);
      withdrawApproval(id);
    }
  }
}
