/** A path for display: relative if it is in the workspace. */
export function relative(path: string, root: string): string {
  const base = root.endsWith('/') ? root : `${root}/`;
  return root !== '' && path.startsWith(base) && path.length > base.length ? path.slice(base.length) : path;
}
