import { notifyApproval, withdrawApproval } from '../install/notifications';
import type { Question } from './question';

/** Tells the system once of each question that waits, and takes that back when it waits no more. */
export class Announcer {
  readonly #told = new Set<string>();
  readonly #say: ((title: string, body: string) => void) | undefined;

  /** `say` is the desktop's own way of calling a person; a browser has its notifications. */
  constructor(say: ((title: string, body: string) => void) | undefined) {
    this.#say = say;
  }

  tell(questions: readonly Question[]): void {
    const waiting = new Set(questions.map(({ approval }) => approval.id));
    for (const { approval, shownIn } of questions) {
      if (this.#told.has(approval.id)) continue;
      this.#told.add(approval.id);
      this.#say?.(`${approval.agent} is waiting`, approval.title);
      notifyApproval({ id: approval.id, sessionId: shownIn, title: approval.title, agent: approval.agent });
    }
    for (const id of this.#told) {
      if (waiting.has(id)) continue;
      this.#told.delete(id);
      withdrawApproval(id);
    }
  }
}
