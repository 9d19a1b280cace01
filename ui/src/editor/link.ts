/** Link templates of the editors. `{path}` is absolute. */
export const EDITORS = [
  { id: 'vscode', name: 'VS Code', link: 'vscode://file{path}:{line}' },
  { id: 'zed', name: 'Zed', link: 'zed://file{path}:{line}' },
  { id: 'idea', name: 'JetBrains IDE', link: 'idea://open?file={path}&line={line}' },
] as const;

export type EditorId = (typeof EDITORS)[number]['id'];

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
