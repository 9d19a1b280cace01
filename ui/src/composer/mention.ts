/** A file that is being named in the prompt: `@` and what follows it, up to the caret. */
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

/** The text with a mention completed, and where the caret is then. */
export function withFile(text: string, caret: number, { at }: Mention, path: string): [string, number] {
  const name = /\s/.test(path) ? `@"${path}" ` : `@${path} `;
  const rest = text.slice(caret);
  return [text.slice(0, at) + name + rest.replace(/^ /, ''), at + name.length];
}
