/** Fenced code, inline code, links, and the marks that a reader does not see. */
const MARKUP =
  /^[ \t]*(?:`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?^[ \t]*(?:`{3,}|~{3,})[ \t]*$|`([^`\n]+)`|!?\[([^\]\n]*)\]\([^)\n]*\)|\*\*|__|~~|^#{1,6} /gm;

/** Markdown as it is read: what stands in code stays as it is. */
export function spoken(markdown: string): string {
  return markdown.replace(
    MARKUP,
    (_, fenced?: string, code?: string, linked?: string) => fenced ?? code ?? linked ?? '',
  );
}
