interface Match {
  line: number;
  start: number;
  end: number;
}

/** More matches than anyone steps through; the count shows a plus. */
export const MOST_MATCHES = 9999;

/** Finds a text in lines, ignoring case. */
export function findMatches(lines: readonly string[], query: string): Match[] {
  const wanted = query.toLowerCase();
  const found: Match[] = [];
  if (wanted === '') return found;
  for (const [line, text] of lines.entries()) {
    const lower = text.toLowerCase();
    for (let start = lower.indexOf(wanted); start !== -1; start = lower.indexOf(wanted, start + wanted.length)) {
      found.push({ line, start, end: start + wanted.length });
      if (found.length === MOST_MATCHES) return found;
    }
  }
  return found;
}

export interface Part {
  text: string;
  match: Match | null;
}

/** Splits a line at its matches: texts with and without a match, alternating. */
export function splitLine(text: string, line: number, matches: readonly Match[]): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of matches.filter((match) => match.line === line)) {
    parts.push({ text: text.slice(end, match.start), match: null });
    parts.push({ text: text.slice(match.start, match.end), match });
    end = match.end;
  }
  return [...parts, { text: text.slice(end), match: null }];
}
