/** What keys of the whole page do. */
export interface Shortcuts {
  debug(): void;
  settings(): void;
  /** Returns false where there is nothing to search in: the browser's own search comes then. */
  search(): boolean;
  /** Closes what lies on top. */
  back(): void;
  /** Returns false where nothing can be written. */
  write(): boolean;
}

/** Does what a key stands for. */
export function pressed(event: KeyboardEvent, deeds: Shortcuts): void {
  const command = event.metaKey || event.ctrlKey;
  // By place on the keyboard: with ⌥ held the letter is another one.
  if (event.code === 'KeyD' && event.altKey && command) {
    event.preventDefault();
    deeds.debug();
  } else if (event.key === ',' && command && !event.altKey) {
    event.preventDefault();
    deeds.settings();
  } else if (event.code === 'KeyF' && command && !event.altKey) {
    if (deeds.search()) event.preventDefault();
  } else if (event.key === 'Escape' && !event.isComposing) {
    // A dialog closes by itself; what lies behind it stays.
    if (document.querySelector('dialog[open]') === null) deeds.back();
  } else if (event.key === '/' && !/^(INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName)) {
    if (deeds.write()) event.preventDefault();
  }
}
