/** Milliseconds during which clicks and Enter are ignored, as they were meant for what was here before. */
const PAUSE = 500;

/** Holds back the answer to a question that has just appeared. Create it during component setup. */
export class Guard {
  ready = $state(false);

  /** `question` identifies what is asked; another question starts a new pause. */
  constructor(question: () => string) {
    const asked = $derived(question());
    $effect(() => {
      void asked;
      this.ready = false;
      const timer = setTimeout(() => (this.ready = true), PAUSE);
      return () => clearTimeout(timer);
    });
  }
}
