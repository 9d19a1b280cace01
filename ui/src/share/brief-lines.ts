import type { SessionBrief } from '../connection/wire';

/** A part of a brief: text, or the line of the log that the text before it quotes. */
export interface BriefPiece {
  text: string;
  source: number | null;
}

/** Splits a brief at the numbers of the log's lines that end its lines. */
export function briefPieces({ text, lines }: Pick<SessionBrief, 'text' | 'lines'>): BriefPiece[] {
  const sources = new Map(lines.map(({ line, source }) => [line, source]));
  const pieces: BriefPiece[] = [];
  let plain = '';
  for (const [at, line] of text.split('\n').entries()) {
    if (at > 0) plain += '\n';
    const source = sources.get(at + 1);
    const end = `[${source}]`;
    if (source === undefined || !line.endsWith(end)) {
      plain += line;
      continue;
    }
    pieces.push({ text: plain + line.slice(0, -end.length), source: null }, { text: end, source });
    plain = '';
  }
  if (plain !== '') pieces.push({ text: plain, source: null });
  return pieces;
}
