import type { AvailableCommand } from '@agentclientprotocol/sdk';

/** The most commands shown at once; typing narrows them down. */
const MOST = 50;

/** The commands that the text may become, best first. Names may have spaces. */
export function matching(text: string, commands: readonly AvailableCommand[]): readonly AvailableCommand[] {
  if (!text.startsWith('/') || text.includes('\n')) return [];
  const typed = text.slice(1).toLowerCase();
  const isComplete = commands.some(({ name }) => typed.startsWith(`${name.toLowerCase()} `));
  const ranked = commands.flatMap((command) => {
    const name = command.name.toLowerCase();
    const at = name === typed ? -1 : name.startsWith(typed) ? 0 : !isComplete && name.includes(typed) ? 1 : null;
    return at === null ? [] : [{ command, at }];
  });
  // A stable sort: the agent's order otherwise.
  return ranked
    .sort((a, b) => a.at - b.at)
    .slice(0, MOST)
    .map(({ command }) => command);
}

/** Whether the text is a command as it is; another one may begin with it. */
export function isCommand(text: string, commands: readonly AvailableCommand[]): boolean {
  return commands.some(({ name }) => text.trimEnd() === `/${name}`);
}

/** The hint on the arguments of the command that the text begins with, while it has none. */
export function hintOf(text: string, commands: readonly AvailableCommand[]): string | null {
  const command = commands.find(({ name }) => text === `/${name} `);
  return command?.input?.hint ?? null;
}
