/** The last part of a path, for display: `bridge` of `/home/me/code/bridge`. */
export function baseName(path: string): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== '');
  return parts.at(-1) ?? path;
}

/** Shows a home folder as `~`. The page cannot ask for it but knows the usual locations. */
export function tilde(path: string): string {
  return path.replace(/^(?:\/(?:home|Users)\/[^/]+|\/root)(?=\/|$)/, '~');
}
