import type { Backend } from '../backend';
import { browserStorage } from '../backend/storage';
import { EDITORS, editorLink, type EditorId } from './link';

const CHOICE = 'openagents.editor';
const COMMAND = 'openagents.editor-command';

/** `command`: a custom command, which only the desktop window can run. */
export type EditorChoice = EditorId | 'command';

/** The editor that opens workspace files. Stored per browser. */
export class Editor {
  /** Null until chosen. */
  choice = $state<EditorChoice | null>(null);
  /** With `{path}` and `{line}`; empty for `$EDITOR {path}`. */
  command = $state(browserStorage.read(COMMAND) ?? '');
  #backend: Pick<Backend, 'openEditor' | 'runEditor'>;

  constructor(backend: Pick<Backend, 'openEditor' | 'runEditor'>) {
    this.#backend = backend;
    const known = browserStorage.read(CHOICE);
    this.choice = known === 'command' && this.runs ? known : (EDITORS.find(({ id }) => id === known)?.id ?? null);
  }

  get runs(): boolean {
    return this.#backend.runEditor !== undefined;
  }

  /** `Open in Zed` */
  get label(): string {
    const editor = EDITORS.find(({ id }) => id === this.choice);
    return editor === undefined ? 'Open in editor' : `Open in ${editor.name}`;
  }

  choose(choice: EditorChoice | null): void {
    this.choice = choice;
    browserStorage.write(CHOICE, choice);
  }

  setCommand(command: string): void {
    this.command = command;
    browserStorage.write(COMMAND, command === '' ? null : command);
  }

  /** Opens a line of a file. Rejects with the reason if that is not possible. */
  async open(root: string, path: string, line: number): Promise<void> {
    if (this.choice === 'command') return this.#backend.runEditor?.(this.command, root, path, line);
    const link = editorLink(EDITORS.find(({ id }) => id === this.choice)?.link ?? '', root, path, line);
    if (!link) throw new Error(`${path} is not a file in this workspace.`);
    await this.#backend.openEditor(link);
  }
}
