/** A path as it is shown: relative where it lies in the workspace. */
export function relative(path: string, root: string): string {
  const base = root.endsWith('/') ? root : `${root}/`;
  return root !== '' && path.startsWith(base) && path.length > base.length ? path.slice(base.length) : path;
}
