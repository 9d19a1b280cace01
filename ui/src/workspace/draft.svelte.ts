import { EXPLORER_MODE, LOCAL_MODE, type Mode } from '../models/modes';

const KEY = 'openagents.mode';

function stored(): Mode {
  try {
    return localStorage.getItem(KEY) === LOCAL_MODE ? LOCAL_MODE : EXPLORER_MODE;
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
  #mode = $state<Mode>(stored());

  /** Who answers in new sessions, as it was chosen last. */
  get mode(): Mode {
    return this.#mode;
  }

  choose(mode: Mode): void {
    this.#mode = mode;
    try {
      localStorage.setItem(KEY, mode);
    } catch {
      // Kept for this visit only.
    }
  }
}
