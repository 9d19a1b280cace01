import type { IconName } from '../kit/icons';

export type Group = 'General' | 'Session' | 'Settings' | 'Theme';

/** What runs a command. Keys also close what they open. */
export type By = 'key' | 'menu' | 'palette';

/** Something that the page can do on request. */
export interface Command {
  /** Also the id of its item in the desktop menu. */
  id: string;
  title: string;
  group: Group;
  icon: IconName;
  /** One line of details. */
  note?: string;
  /** Any of them runs it; the first is shown. */
  keys?: readonly Chord[];
  /** The keys of its item in the desktop menu, which a browser needs for itself. */
  menuKeys?: Chord;
  /** The palette does not list it: it is about what has the focus. */
  unlisted?: true;
  /** Its keys work while a dialog is open. */
  inDialogs?: true;
  /** It can be run now. */
  available: () => boolean;
  run: (by: By) => void;
}

/** The keys to show for a command; undefined if it has none here. */
export function keysOf(command: Command, desktop: boolean): Chord | undefined {
  return command.keys?.[0] ?? (desktop ? command.menuKeys : undefined);
}

/** Runs the command with an id, if there is one and it can be run. */
export function runCommand(commands: readonly Command[], id: string, by: By): void {
  const command = commands.find((known) => known.id === id);
  if (command?.available()) command.run(by);
}

/** Keys that are pressed together. */
export interface Chord {
  /** A key by what it types, or by its name: `/`, `Escape`. Shift is part of what is typed. */
  key?: string;
  /** A key by its position, `KeyF`: with ⌥ held, or in another alphabet, it types something else. */
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

/** Whether a text field takes the keys as text. */
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

/** The same as one text: `⌘⇧G`, `Ctrl+Shift+G`. */
export function chordText(chord: Chord, mac: boolean): string {
  return caps(chord, mac).join(mac ? '' : '+');
}

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
