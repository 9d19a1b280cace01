import type { ToolServer } from '../connection/wire';

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

/** The text of a number field: `0.7` for the 0.699999988 that a single-precision number becomes on the wire. */
export function shownNumber(value: number | null): string {
  return value === null ? '' : String(Math.round(value * 10_000) / 10_000);
}

/** The number in a field; `undefined` if it is not one. The bridge checks the range. */
export function typedNumber(text: string): number | undefined {
  const trimmed = text.trim().replace(',', '.');
  const value = Number(trimmed);
  return trimmed === '' || !Number.isFinite(value) ? undefined : value;
}

/** A server from its fields: the words of a command, or one web address; `variables` are `NAME` or `Header=NAME`. */
export function serverOf(name: string, reach: readonly string[], variables: readonly string[]): ToolServer {
  const [first = '', ...args] = reach;
  if (!/^https?:/.test(first)) return { name, kind: 'command', command: first, args, variables: [...variables] };
  const headers = variables.map((pair): [string, string] => {
    const at = pair.indexOf('=');
    return at < 0 ? ['Authorization', pair] : [pair.slice(0, at), pair.slice(at + 1)];
  });
  return { name, kind: 'http', url: first, headers: Object.fromEntries(headers) };
}

/** `github-mcp stdio`, `https://mcp.example.com`. */
export function reachOf(server: ToolServer): string {
  if (server.kind === 'command') return [server.command, ...server.args].join(' ');
  return server.kind === 'http' ? server.url : '';
}
