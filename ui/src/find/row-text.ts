import type { Summary } from '../connection/wire';
import { cardsOf } from '../findings/finding-text';
import { screenText } from '../terminal/screen';
import { delegation, isDelegation } from '../session/delegation';
import { resultWords } from '../session/result-words';
import { noteTitle, type MessageRow, type NoteRow, type Piece, type Row, type ToolRow } from '../session/rows';
import { citation, locationOf } from '../words/places';

/** A part that has to be folded or unfolded to show a text. */
export type Fold = readonly [part: string, open: boolean];

/** A text of a row, in drawing order. */
export interface Field {
  text: string;
  folds: readonly Fold[];
}

/** Context lines drawn around a change. */
const CONTEXT = 3;

/** Rows are replaced, not changed. */
const known = new WeakMap<Row, readonly Field[]>();

/** Returns the searchable text of a row, including hidden parts. */
export function fieldsOf(row: Row): readonly Field[] {
  let fields = known.get(row);
  if (fields === undefined) {
    fields = read(row).filter(({ text }) => text !== '');
    known.set(row, fields);
  }
  return fields;
}

function read(row: Row): Field[] {
  switch (row.kind) {
    case 'user':
      return [shown(row.text)];
    case 'thought':
      return [{ text: withoutMarkup(row.text), folds: [[row.key, true]] }];
    case 'message':
      return message(row);
    case 'note':
      return note(row);
    case 'tool':
      return isDelegation(row) ? delegate(row) : tool(row);
  }
}

function note({ key, note }: NoteRow): Field[] {
  const folds: Fold[] = [[key, true]];
  switch (note.type) {
    case 'notice':
      return [shown(note.title), shown(note.description)];
    case 'compaction':
      return [shown(noteTitle(note)), { text: withoutMarkup(note.summary), folds }];
    case 'plan':
      return [shown(noteTitle(note)), shown(note.path), { text: withoutMarkup(note.text), folds }];
  }
}

const shown = (text: string | null | undefined): Field => ({ text: text ?? '', folds: [] });

function message(row: MessageRow): Field[] {
  if (row.summary !== undefined) return summary(row.summary);
  if (row.findings === undefined || row.findings.findings.length === 0) return [shown(withoutMarkup(row.text))];
  const { findings } = row.findings;
  const place = (at: number): string => {
    const finding = findings[at];
    return finding !== undefined && 'path' in finding ? locationOf(finding) : '';
  };
  return cardsOf(findings).flatMap(({ at, twins, weaker }) => {
    const folds: Fold[] = weaker ? [[`${row.key} weaker`, true]] : [];
    const open: Fold[] = [...folds, [`${row.key} ${at} open`, true], [`${row.key} ${at} whole`, true]];
    return [
      { text: place(at), folds },
      { text: findings[at]?.symbol ?? '', folds },
      { text: findings[at]?.excerpt ?? '', folds: open },
      ...twins.map((twin) => ({ text: place(twin), folds })),
    ];
  });
}

function summary({
  repository,
  intent,
  evidence = [],
  recent_work = [],
  top_files = [],
  followups = [],
}: Summary): Field[] {
  return [
    repository,
    intent,
    ...evidence.map(citation),
    ...recent_work.map(({ title }) => title),
    ...top_files,
    ...followups,
  ].map(shown);
}

function tool(row: ToolRow): Field[] {
  return [
    shown(row.title ?? row.name),
    shown(row.title === null ? resultWords(row) : ''),
    shown(row.error),
    ...details(row),
    ...unseen(row),
  ];
}

function delegate(row: ToolRow): Field[] {
  const { prompt, description, notes } = delegation(row);
  const within = (row.delegate?.rows ?? []).filter((inner, at) => at > 0 || inner.kind !== 'user');
  const activity: Fold[] = [
    [`${row.key} activity`, true],
    [`${row.key} changes`, false],
    [`${row.key} many`, true],
  ];
  return [
    shown(description),
    shown(notes === null ? '' : withoutMarkup(notes)),
    ...details(row),
    ...within.flatMap((inner) => fieldsOf(inner).map(({ text, folds }) => ({ text, folds: [...activity, ...folds] }))),
    {
      text: withoutMarkup(prompt),
      folds: [
        [`${row.key} changes`, true],
        [`${row.key} activity`, false],
      ],
    },
  ];
}

function details(row: ToolRow): Field[] {
  return [
    ...row.content.flatMap((piece, at) => pieceText(piece, `${row.key} ${at}`)),
    ...row.approvals.map(({ title }) => shown(title)),
  ];
}

function pieceText(piece: Piece, part: string): Field[] {
  switch (piece.type) {
    case 'text':
      return [{ text: withoutMarkup(piece.text), folds: [[part, true]] }];
    case 'terminal':
      return [shown(piece.command), shown(screenText(piece.output))];
    case 'image':
      return [];
    case 'diff':
      return [
        shown(piece.path),
        {
          text: changedText(piece.before, piece.after),
          folds: [
            [part, true],
            [`${part} whole`, true],
          ],
        },
      ];
  }
}

/** The drawn lines of a change, without unchanged lines at the start and the end. */
function changedText(before: string | null, after: string): string {
  if (before === null) return after;
  const [old, fresh] = [before.split('\n'), after.split('\n')];
  const shorter = Math.min(old.length, fresh.length);
  let [head, tail] = [0, 0];
  while (head < shorter && old[head] === fresh[head]) head += 1;
  while (tail < shorter - head && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  const from = Math.max(0, head - CONTEXT);
  const added = fresh.slice(from, fresh.length - Math.max(0, tail - CONTEXT));
  const kept = new Set(added);
  return [...old.slice(head, old.length - tail).filter((line) => !kept.has(line)), ...added].join('\n');
}

/** Arguments and results that only the inspector shows. */
function unseen(row: ToolRow): Field[] {
  const drawn = [row.title ?? row.name, resultWords(row), ...row.content.flatMap(whole)];
  const args = leaves(row.args).filter((text) => !drawn.some((other) => other.includes(text)));
  // Content repeats the result.
  return [...args, ...(row.content.length > 0 || row.error !== undefined ? [] : leaves(row.output))].map(shown);
}

function whole(piece: Piece): string[] {
  switch (piece.type) {
    case 'text':
      return [piece.text];
    case 'terminal':
      return [piece.command ?? '', piece.output];
    case 'diff':
      return [piece.path, piece.before ?? '', piece.after];
    case 'image':
      return [];
  }
}

/** The texts and numbers in a value. */
function leaves(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return [String(value)];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leaves) : [];
}

/** Fenced code, inline code, links and invisible markup. */
const MARKUP =
  /^[ \t]*(?:`{3,}|~{3,})[^\n]*\n([\s\S]*?)\n?^[ \t]*(?:`{3,}|~{3,})[ \t]*$|`([^`\n]+)`|!?\[([^\]\n]*)\]\([^)\n]*\)|\*\*|__|~~|^#{1,6} /gm;

/** Markdown without markup; code is unchanged. */
export function withoutMarkup(markdown: string): string {
  return markdown.replace(
    MARKUP,
    (_, fenced?: string, code?: string, linked?: string) => fenced ?? code ?? linked ?? '',
  );
}
