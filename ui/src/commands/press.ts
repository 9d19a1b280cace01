import { matches, types } from './chord';
import type { Command } from './command';

/** Runs the command of the pressed keys. Without one that can be run, the browser's own shortcut works. */
export function pressed(event: KeyboardEvent, commands: readonly Command[]): void {
  // A part of the page has used the keys already.
  if (event.defaultPrevented) return;
  const field = /^(?:INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName);
  // A dialog closes by itself; the panel behind it stays.
  const dialog = document.querySelector('dialog[open]') !== null;
  const command = commands.find(
    ({ keys = [], inDialogs = false, available }) =>
      (inDialogs || !dialog) && keys.some((chord) => matches(chord, event) && !(field && types(chord))) && available(),
  );
  if (command === undefined) return;
  event.preventDefault();
  command.run('key');
}
