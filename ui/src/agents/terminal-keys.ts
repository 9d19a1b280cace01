/** What a terminal sends for keys without a character, as xterm does (https://invisible-island.net/xterm/ctlseqs). */
const KEYS: Readonly<Record<string, string>> = {
  Enter: '\r',
  Backspace: '\x7f',
  Tab: '\t',
  Escape: '\x1b',
  ArrowUp: '\x1b[A',
  ArrowDown: '\x1b[B',
  ArrowRight: '\x1b[C',
  ArrowLeft: '\x1b[D',
  Home: '\x1b[H',
  End: '\x1b[F',
  Delete: '\x1b[3~',
  PageUp: '\x1b[5~',
  PageDown: '\x1b[6~',
};

type Key = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey' | 'isComposing'>;

/** The characters that a terminal sends for a key; null for a key of the page or the system. */
export function terminalText({ key, ctrlKey, metaKey, altKey, shiftKey, isComposing }: Key): string | null {
  if (metaKey || isComposing) return null;
  // Leaves the terminal, so that the keyboard is not trapped in it.
  if (key === 'Tab' && shiftKey) return null;
  const special = KEYS[key];
  if (special !== undefined) return special;
  if ([...key].length !== 1) return null;
  // Option and AltGr (Ctrl and Alt on Windows) type characters: `@` on a German keyboard.
  if (!ctrlKey || altKey) return key;
  // Copy and paste.
  if (shiftKey) return null;
  const code = key.toUpperCase().charCodeAt(0);
  return code >= 64 && code <= 95 ? String.fromCharCode(code - 64) : null;
}
