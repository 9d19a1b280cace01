export type TokenKind = 'key' | 'string' | 'number' | 'word' | 'mark';

export interface Token {
  kind: TokenKind;
  text: string;
}

export interface Line {
  /** From 0; not affected by folding. */
  index: number;
  depth: number;
  tokens: Token[];
  text: string;
  /** For a line that opens an object or a list: the line that closes it. */
  closes?: number;
}

export interface Match {
  line: number;
  start: number;
  end: number;
}

export interface Segment extends Token {
  match: 'none' | 'found' | 'current';
}

/** More matches than anyone steps through; the count shows a plus. */
export const MOST_MATCHES = 9999;

/** Pretty-prints a value as lines of coloured tokens, with the same text as `JSON.stringify(value, null, 2)`. */
export function lines(value: unknown): Line[] {
  const found: Line[] = [];
  write(found, value, 0, [], '');
  return found;
}

function push(out: Line[], depth: number, tokens: Token[]): Line {
  const line = { index: out.length, depth, tokens, text: tokens.map((token) => token.text).join('') };
  out.push(line);
  return line;
}

function write(out: Line[], value: unknown, depth: number, lead: Token[], tail: string): void {
  const mark = (text: string): Token => ({ kind: 'mark', text });
  if (typeof value === 'object' && value !== null) {
    const list = Array.isArray(value);
    const entries = list
      ? value.map((item): [null, unknown] => [null, item])
      : Object.entries(value).filter(([, item]) => item !== undefined);
    const [open, close] = list ? ['[', ']'] : ['{', '}'];
    if (entries.length === 0) {
      push(out, depth, [...lead, mark(`${open}${close}${tail}`)]);
      return;
    }
    const first = push(out, depth, [...lead, mark(open)]);
    entries.forEach(([key, item], at) => {
      const name: Token[] = key === null ? [] : [{ kind: 'key', text: JSON.stringify(key) }, mark(': ')];
      write(out, item, depth + 1, name, at < entries.length - 1 ? ',' : '');
    });
    first.closes = push(out, depth, [mark(`${close}${tail}`)]).index;
    return;
  }
  const token: Token =
    typeof value === 'string'
      ? { kind: 'string', text: JSON.stringify(value) }
      : typeof value === 'number'
        ? { kind: 'number', text: String(value) }
        : { kind: 'word', text: value === true || value === false ? String(value) : 'null' };
  push(out, depth, tail === '' ? [...lead, token] : [...lead, token, mark(tail)]);
}

/** Removes the lines inside folds. */
export function unfolded(all: readonly Line[], folded: ReadonlySet<number>): Line[] {
  const shown: Line[] = [];
  for (let i = 0; i < all.length; i += 1) {
    const line = all[i];
    if (line === undefined) break;
    shown.push(line);
    if (line.closes !== undefined && folded.has(i)) i = line.closes;
  }
  return shown;
}

export function find(all: readonly Line[], query: string): Match[] {
  const wanted = query.toLowerCase();
  const found: Match[] = [];
  if (wanted === '') return found;
  for (const line of all) {
    const text = line.text.toLowerCase();
    for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + wanted.length)) {
      found.push({ line: line.index, start: at, end: at + wanted.length });
      if (found.length === MOST_MATCHES) return found;
    }
  }
  return found;
}

/** Splits a line's tokens at the borders of its matches. */
export function segments(line: Line, matches: readonly Match[], current: Match | undefined): Segment[] {
  if (matches.length === 0) return line.tokens.map((token) => ({ ...token, match: 'none' }));
  const out: Segment[] = [];
  let at = 0;
  for (const token of line.tokens) {
    const end = at + token.text.length;
    let from = at;
    for (const match of matches) {
      const start = Math.max(match.start, at);
      const stop = Math.min(match.end, end);
      if (start >= stop) continue;
      if (start > from) out.push({ kind: token.kind, text: line.text.slice(from, start), match: 'none' });
      out.push({
        kind: token.kind,
        text: line.text.slice(start, stop),
        match: match === current ? 'current' : 'found',
      });
      from = stop;
    }
    if (from < end) out.push({ kind: token.kind, text: line.text.slice(from, end), match: 'none' });
    at = end;
  }
  return out;
}
