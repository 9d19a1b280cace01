import { structuredPatch } from 'diff';

/** Lines of context around a change. */
const CONTEXT = 3;
/** Milliseconds to search for the smallest difference; beyond that, everything counts as changed. */
const LONGEST = 300;

export interface DiffLine {
  kind: 'same' | 'added' | 'removed' | 'gap';
  /** Line numbers from 1; null where the line does not exist. */
  before: number | null;
  after: number | null;
  text: string;
}

interface Difference {
  lines: DiffLine[];
  added: number;
  removed: number;
}

/** The difference of two texts by line. `first` is the file's line number at which the texts begin. */
export function difference(before: string | null, after: string, first = 1): Difference {
  const patch = structuredPatch('', '', before ?? '', after, undefined, undefined, {
    context: CONTEXT,
    timeout: LONGEST,
  });
  const hunks = patch?.hunks ?? [
    { oldStart: 1, newStart: 1, lines: [...split(before ?? '', '-'), ...split(after, '+')] },
  ];
  const lines: DiffLine[] = [];
  for (const hunk of hunks) {
    let old = hunk.oldStart + first - 1;
    let fresh = hunk.newStart + first - 1;
    if (lines.length > 0) lines.push({ kind: 'gap', before: null, after: null, text: '' });
    for (const line of hunk.lines) {
      const text = line.slice(1);
      if (line.startsWith('+')) lines.push({ kind: 'added', before: null, after: fresh++, text });
      else if (line.startsWith('-')) lines.push({ kind: 'removed', before: old++, after: null, text });
      else if (line.startsWith(' ')) lines.push({ kind: 'same', before: old++, after: fresh++, text });
    }
  }
  const count = (kind: DiffLine['kind']): number => lines.filter((line) => line.kind === kind).length;
  return { lines, added: count('added'), removed: count('removed') };
}

/** The file line at which a text begins; agents that send part of a file name it separately. */
export function firstLine(before: string | null, line: number | undefined): number {
  return line !== undefined && before !== null && line > before.split('\n').length ? line : 1;
}

function split(text: string, sign: string): string[] {
  if (text === '') return [];
  return text
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => sign + line);
}
