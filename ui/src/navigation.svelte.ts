import { PAGES, type Page as SettingsPage } from './settings/pages';

/** What covers the session: the drawer, dialogs, the settings and the debug panel. */
export class Navigation {
  drawer = $state(false);
  palette = $state(false);
  shortcuts = $state(false);
  over = $state<'debug' | 'settings' | null>(null);
  settings = $state<SettingsPage>('models');

  readonly #mayDebug: () => boolean;
  readonly #hasEditor: () => boolean;

  readonly settingsPages = $derived.by(() => PAGES.filter(([id]) => id !== 'editor' || this.#hasEditor()));

  constructor(mayDebug: () => boolean, hasEditor: () => boolean) {
    this.#mayDebug = mayDebug;
    this.#hasEditor = hasEditor;
  }

  /** Shows the list of sessions. On phones it is a drawer. */
  showList(): void {
    this.drawer = matchMedia('(max-width: 720px)').matches;
  }

  toggle(what: 'debug' | 'settings', stays = false): void {
    if (what === 'debug' && !this.#mayDebug()) return;
    this.over = this.over === what && !stays ? null : what;
    this.drawer = false;
  }

  openSettings(on: SettingsPage): void {
    this.settings = on;
    this.toggle('settings', true);
  }

  /** Uncovers the session. */
  clear(): void {
    this.over = null;
    this.drawer = false;
  }
}
