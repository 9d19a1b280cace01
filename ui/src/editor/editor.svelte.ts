import type { Backend } from '../backend';
import { browserStorage } from '../backend/storage';

const CHOICE = 'openagents.editor';
const COMMAND = 'openagents.editor-command';

/** `command`: a custom command, which only the desktop window can run. */
export type EditorChoice = EditorId | 'command';

/** The editor that opens workspace files. Stored per browser. */
export class Editor {
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

/** Link templates of the editors. `{path}` is absolute. */
export const EDITORS = [
  { id: 'vscode', name: 'VS Code', link: 'vscode://file{path}:{line}' },
  { id: 'zed', name: 'Zed', link: 'zed://file{path}:{line}' },
  { id: 'idea', name: 'JetBrains IDE', link: 'idea://open?file={path}&line={line}' },
] as const;

type EditorId = (typeof EDITORS)[number]['id'];

/** The link that opens a line of a file; null for a path that could leave the workspace `root`. */
export function editorLink(template: string, root: string, path: string, line: number): string | null {
  const segments = path.split('/');
  const leaves = segments.some((segment) => segment === '' || segment === '.' || segment === '..');
  if (leaves || path.includes('\0') || !root.startsWith('/')) return null;
  const all = [...root.split('/').filter((segment) => segment !== ''), ...segments];
  const absolute = all.map((segment) => `/${encodeURIComponent(segment)}`).join('');
  return template.replace(/\{(path|line)\}/g, (_, name) =>
    name === 'path' ? absolute : String(Math.max(1, Math.trunc(line))),
  );
}
