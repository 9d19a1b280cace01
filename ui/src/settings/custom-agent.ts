/** The id for a custom agent's name: `My Agent 2` is `my-agent-2`. */
export function idOf(name: string): string {
  return name
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^a-z0-9._-]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, 64);
}

/** Splits a command line like a shell: quotes group words, and nothing else is special. */
export function words(line: string): string[] {
  const found: string[] = [];
  for (const [word] of line.matchAll(/(?:"[^"]*"|'[^']*'|\\.|[^\s"'\\])+/g)) {
    found.push(
      word.replace(
        /"([^"]*)"|'([^']*)'|\\(.)/g,
        (_all, double?: string, single?: string, escaped?: string) => double ?? single ?? escaped ?? '',
      ),
    );
  }
  return found;
}

/** `A=1 B="two words"` as an object. */
export function pairs(line: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const word of words(line)) {
    const at = word.indexOf('=');
    if (at > 0) found[word.slice(0, at)] = word.slice(at + 1);
  }
  return found;
}
