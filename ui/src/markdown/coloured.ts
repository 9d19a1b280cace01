/** A part of a line of code. */
export interface Piece {
  text: string;
  /** The CSS class of its colour; empty without one. */
  kind: string;
}

/** Code as Markdown, in the language of the file's name. */
export function fenced(code: string, path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const language = name.slice(name.lastIndexOf('.') + 1).replace(/[^\w+#-]/g, '');
  // Longer than any fence in the code.
  const longest = Math.max(2, ...[...code.matchAll(/`+/g)].map(([fence]) => fence.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${code}\n${fence}\n`;
}

/** The lines of a highlighted block of code, from the bridge's HTML. */
export function colouredLines(html: string): Piece[][] {
  const code = new DOMParser().parseFromString(html, 'text/html').querySelector('pre > code');
  const lines: Piece[][] = [[]];
  for (const node of code?.childNodes ?? []) {
    const kind = node instanceof Element ? node.className : '';
    node.textContent?.split('\n').forEach((text, at) => {
      if (at > 0) lines.push([]);
      if (text !== '') lines.at(-1)?.push({ text, kind });
    });
  }
  return lines;
}
