import { plain } from '../kit/text';
import type { Mentionable } from '../session/mentionable';

/** Something that is being named in the prompt: `@` and what follows it, up to the caret. */
export interface Mention {
  /** Where its `@` is. */
  at: number;
  /** What was typed after it. */
  query: string;
}

/** The mention that ends at the caret; null if there is none. */
export function mentionAt(text: string, caret: number): Mention | null {
  const found = /(?:^|[\s(])@([^\s@"]*|"[^"\n]*)$/.exec(text.slice(0, caret));
  const typed = found?.[1];
  if (typed === undefined) return null;
  return { at: caret - typed.length - 1, query: typed.replace('"', '') };
}

/** The path that a prompt gets for a file or a place. */
export function pathOf(named: Exclude<Mentionable, { kind: 'session' }>): string {
  return named.kind === 'file' ? named.path : `${named.path}:${named.line}`;
}

/** The text with a mention completed, and where the caret is then. An empty path takes the mention out. */
export function withPath(text: string, caret: number, { at }: Mention, path: string): [string, number] {
  const name = path === '' ? '' : /\s/.test(path) ? `@"${path}" ` : `@${path} `;
  const rest = text.slice(caret);
  return [text.slice(0, at) + name + rest.replace(/^ /, ''), at + name.length];
}

/** How a suggestion is shown: its name, and what says which one it is. */
export function suggestionWords(named: Mentionable): [name: string, about: string] {
  switch (named.kind) {
    case 'file':
      return [`@${named.path.slice(named.path.lastIndexOf('/') + 1)}`, named.path.includes('/') ? named.path : ''];
    case 'place':
      return [`@${named.name}`, pathOf(named)];
    case 'session':
      return [plain(named.title), `Session · ${named.agent}`];
  }
}
