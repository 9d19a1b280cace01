/** The last part of a path, for a person: `bridge` of `/home/me/code/bridge`. */
export function baseName(path: string): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== '');
  return parts.at(-1) ?? path;
}

/** Shows a home folder as `~`; the page cannot ask for it, but its usual places are known. */
export function tilde(path: string): string {
  return path.replace(/^(?:\/(?:home|Users)\/[^/]+|\/root)(?=\/|$)/, '~');
}
