import { EXPLORER_MODE } from '../agents/modes';

const KEY = 'openagents.mode';

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? EXPLORER_MODE;
  } catch {
    // Storage is disabled.
    return EXPLORER_MODE;
  }
}

/** The input for the next session. It survives the form, which is replaced while a session starts. */
export class Draft {
  /** Null until chosen: the form then shows the bridge's own folder. */
  path = $state<string | null>(null);
  /** Goals of an exploration, or the prompt for a model. */
  text = $state('');
  #mode = $state<string>(stored());

  /** The agent chosen last for new sessions. */
  get mode(): string {
    return this.#mode;
  }

  choose(mode: string): void {
    this.#mode = mode;
    try {
      localStorage.setItem(KEY, mode);
    } catch {
      // Storage is disabled: kept until the page is reloaded.
    }
  }
}
