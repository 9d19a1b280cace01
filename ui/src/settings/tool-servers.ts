import type { ToolServer } from '../connection/wire';

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
