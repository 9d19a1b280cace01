import { composing } from './kit/keys';

/** Actions of the page's keyboard shortcuts. */
export interface Shortcuts {
  debug(): void;
  settings(): void;
  /** Finds sessions, workspaces and commands. */
  palette(): void;
  /** Returns false if there is nothing to search, so that the browser's own search opens. */
  search(): boolean;
  /** Closes the topmost panel. */
  back(): void;
  /** Returns false if there is nothing to write to. */
  write(): boolean;
}

export function pressed(event: KeyboardEvent, actions: Shortcuts): void {
  if (composing(event)) return;
  const command = event.metaKey || event.ctrlKey;
  // By position on the keyboard: with ⌥ held the letter changes.
  if (event.code === 'KeyD' && event.altKey && command) {
    event.preventDefault();
    actions.debug();
  } else if (event.key === ',' && command && !event.altKey) {
    event.preventDefault();
    actions.settings();
  } else if (event.code === 'KeyF' && command && !event.altKey) {
    if (actions.search()) event.preventDefault();
  } else if (event.code === 'KeyK' && command && !event.altKey) {
    event.preventDefault();
    actions.palette();
  } else if (event.key === 'Escape') {
    // A dialog or a menu closes by itself; the panel behind it stays.
    if (!event.defaultPrevented && document.querySelector('dialog[open]') === null) actions.back();
  } else if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName)) {
    if (actions.write()) event.preventDefault();
  }
}
