import type { IconName } from '../kit/icons';

export type Group = 'General' | 'Session' | 'Settings' | 'Theme';

/** What runs a command. Keys also close what they open. */
export type By = 'key' | 'menu' | 'palette';

export interface Command {
  /** Also the id of its desktop menu item. */
  id: string;
  title: string;
  group: Group;
  icon: IconName;
  /** One line of details. */
  note?: string;
  /** Any of these runs it; the first is shown. */
  keys?: readonly Chord[];
  /** Keys of its desktop menu item, which browsers reserve. */
  menuKeys?: Chord;
  /** Not in the palette, because it depends on the focus. */
  unlisted?: true;
  /** Its keys also work in dialogs. */
  inDialogs?: true;
  available: () => boolean;
  run: (by: By) => void;
}

/** The keys to show for a command; undefined if it has none here. */
export function keysOf(command: Command, desktop: boolean): Chord | undefined {
  return command.keys?.[0] ?? (desktop ? command.menuKeys : undefined);
}

/** Runs a command by id, if available. */
export function runCommand(commands: readonly Command[], id: string, by: By): void {
  const command = commands.find((known) => known.id === id);
  if (command?.available()) command.run(by);
}

/** Keys that are pressed together. */
export interface Chord {
  /** A key by what it types or by name: `/`, `Escape`. Shift is part of what it types. */
  key?: string;
  /** A key by position, `KeyF`, for keys that type something else with ⌥ or in another alphabet. */
  code?: string;
  /** ⌘ on a Mac, Ctrl elsewhere. */
  mod?: true;
  alt?: true;
  shift?: true;
}

type Keys = Pick<KeyboardEvent, 'key' | 'code' | 'metaKey' | 'ctrlKey' | 'altKey' | 'shiftKey'>;

export function matches(chord: Chord, event: Keys): boolean {
  const mod = event.metaKey || event.ctrlKey;
  if (mod !== (chord.mod ?? false)) return false;
  // ⌥ is needed for some characters.
  if (chord.code === undefined) return event.key === chord.key && (!mod || event.altKey === (chord.alt ?? false));
  return (
    event.code === chord.code && event.altKey === (chord.alt ?? false) && event.shiftKey === (chord.shift ?? false)
  );
}

/** Whether a text field takes the chord as text. */
export function types(chord: Chord): boolean {
  return chord.mod === undefined && chord.key?.length === 1;
}

const NAMES: Record<string, string> = {
  Escape: 'Esc',
  ArrowUp: '↑',
  ArrowDown: '↓',
  PageUp: 'Page up',
  PageDown: 'Page down',
};

/** The keys of a chord, each for a key cap: `⌘`, `⇧`, `G`. */
export function caps(chord: Chord, mac: boolean): string[] {
  const key = chord.code?.replace(/^(?:Key|Digit)/, '') ?? chord.key ?? '';
  return [
    ...(chord.mod ? [mac ? '⌘' : 'Ctrl'] : []),
    ...(chord.alt ? [mac ? '⌥' : 'Alt'] : []),
    ...(chord.shift ? [mac ? '⇧' : 'Shift'] : []),
    NAMES[key] ?? (mac && key === 'Enter' ? '↩' : key),
  ];
}

/** `⌘⇧G`, `Ctrl+Shift+G` */
export function chordText(chord: Chord, mac: boolean): string {
  return caps(chord, mac).join(mac ? '' : '+');
}

/** Runs the command for the pressed keys; without an available one, the browser's shortcut works. */
export function pressed(event: KeyboardEvent, commands: readonly Command[]): void {
  // Already handled.
  if (event.defaultPrevented) return;
  const field = /^(?:INPUT|TEXTAREA|SELECT)$/.test((event.target as Element).tagName);
  // Escape closes the dialog, not the panel behind it.
  const dialog = document.querySelector('dialog[open]') !== null;
  const command = commands.find(
    ({ keys = [], inDialogs = false, available }) =>
      (inDialogs || !dialog) && keys.some((chord) => matches(chord, event) && !(field && types(chord))) && available(),
  );
  if (command === undefined) return;
  event.preventDefault();
  command.run('key');
}
