import { EXPLORER_MODE } from '../agents/modes';

const KEY = 'openagents.mode';

function stored(): string {
  try {
    return localStorage.getItem(KEY) ?? EXPLORER_MODE;
  } catch {
    // Storage can be switched off.
    return EXPLORER_MODE;
  }
}

/** What a person has filled in for the next session; outlives the form, which gives way while one starts. */
export class Draft {
  /** Null until a person chooses: the form then shows the bridge's own folder. */
  path = $state<string | null>(null);
  /** Goals of an exploration, or the prompt for a model. */
  text = $state('');
  #mode = $state<string>(stored());

  /** Who answers in new sessions, as it was chosen last. */
  get mode(): string {
    return this.#mode;
  }

  choose(mode: string): void {
    this.#mode = mode;
    try {
      localStorage.setItem(KEY, mode);
    } catch {
      // Kept for this visit only.
    }
  }
}
