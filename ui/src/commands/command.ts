import type { IconName } from '../kit/icons';
import type { Chord } from './chord';

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
