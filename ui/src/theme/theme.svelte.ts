import { browserStorage } from '../backend/storage';

/** The theme: the system's, or the one that was chosen. */
export type Choice = 'system' | 'light' | 'dark';

const KEY = 'openagents.theme';
const NEXT: Record<Choice, Choice> = { system: 'light', light: 'dark', dark: 'system' };

/** `--bg` of `tokens.css`, for the browser's own bars. */
const GROUNDS = { light: '#ffffff', dark: '#08090a' } as const;

function stored(): Choice {
  const value = browserStorage.read(KEY);
  return value === 'light' || value === 'dark' ? value : 'system';
}

export class Theme {
  choice = $state<Choice>(stored());

  constructor() {
    this.#show();
  }

  next(): void {
    this.choose(NEXT[this.choice]);
  }

  choose(choice: Choice): void {
    this.choice = choice;
    this.#show();
    browserStorage.write(KEY, choice === 'system' ? null : choice);
  }

  #show(): void {
    const root = document.documentElement;
    if (this.choice === 'system') delete root.dataset['theme'];
    else root.dataset['theme'] = this.choice;
    // Phone bars match the page's background in any system theme.
    for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
      meta.content = GROUNDS[this.choice === 'system' ? (meta.media.includes('dark') ? 'dark' : 'light') : this.choice];
    }
  }
}
