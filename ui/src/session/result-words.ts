import { plural } from '../words/amounts';
import type { ToolRow } from './rows';

type Words = (args: Fields, output: Fields) => string[];

/** A tool's arguments and result in a few words: `'fn pair' · 12 matches in 4 files`. */
export function resultWords(row: Pick<ToolRow, 'name' | 'state' | 'args' | 'output' | 'note' | 'progress'>): string {
  const args = new Fields(row.args);
  if (row.state !== 'done') {
    const percent = row.state === 'running' && row.progress !== undefined ? `${Math.round(row.progress * 100)}%` : '';
    return joined([subjectOf(row.name, args), row.state === 'running' ? (row.note ?? '') : '', percent]);
  }
  if (typeof row.output === 'string') return joined([subjectOf(row.name, args), shortened(row.output)]);
  const words = FOUND[row.name];
  return joined(
    words === undefined ? [subjectOf(row.name, args), counted(row.output)] : words(args, new Fields(row.output)),
  );
}

/** Reads fields of an untrusted object. */
class Fields {
  readonly #value: Record<string, unknown>;

  constructor(value: unknown) {
    if (Array.isArray(value)) this.#value = { items: value };
    else this.#value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  }

  text(name: string): string {
    const value = this.#value[name];
    return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
  }

  number(name: string): number | undefined {
    const value = this.#value[name];
    return typeof value === 'number' ? value : undefined;
  }

  list(name: string): unknown[] {
    const value = this.#value[name];
    return Array.isArray(value) ? value : [];
  }

  /** The number of entries of a list or an object. */
  size(name: string): number {
    const value = this.#value[name];
    if (Array.isArray(value)) return value.length;
    return typeof value === 'object' && value !== null ? Object.keys(value).length : 0;
  }

  distinct(list: string, field: string): number {
    return new Set(this.list(list).map((item) => new Fields(item).text(field))).size;
  }
}

const SOURCES: Record<string, string> = {
  'session.analyze': 'from session history',
  fm: 'by Foundation Models',
  gptoss: 'by gpt-oss',
  readme: 'from the README',
  none: 'no evidence',
};

const FOUND: Record<string, Words> = {
  'session.list': (args, out) => {
    const shown = out.size('sessions');
    const all = out.number('total_count') ?? shown;
    const who = args.text('provider');
    return [
      all === 0 ? 'no sessions' : shown < all ? `${shown} of ${plural(all, 'session')}` : plural(all, 'session'),
      who,
    ];
  },
  'session.search': (args, out) => [
    quoted(out.text('pattern') || args.text('pattern')),
    matches(out.list('matches').length, out.number('totalMatches'), out.distinct('matches', 'sessionId'), 'session'),
  ],
  'session.read': (args, out) => {
    const shown = out.size('events');
    const all = out.number('totalEvents') ?? shown;
    return [
      short(out.text('sessionId') || args.text('sessionId')),
      shown < all ? `${shown} of ${plural(all, 'event')}` : plural(all, 'event'),
    ];
  },
  'session.analyze': (_args, out) => {
    const parts = [
      some(out.size('goalPatterns'), 'goal'),
      some(out.size('fileFrequency'), 'file'),
      some(out.size('toolFrequency'), 'tool'),
    ].filter((part) => part !== '');
    return parts.length > 0 ? [parts.join(', ')] : ['no sessions in this workspace'];
  },
  'fs.list_dir': (args, out) => [
    folder(args.text('path')),
    plural(out.size('items') || out.size('entries'), 'entry', 'entries'),
  ],
  'content.get_span': (args, out) => {
    const from = out.number('start_line');
    const to = out.number('end_line');
    const lines = from === undefined || to === undefined ? '' : from === to ? `line ${from}` : `lines ${from}–${to}`;
    return [out.text('path') || args.text('path'), lines];
  },
  'search.grep': (args, out) => {
    const within = folder(args.text('pathPrefix') || args.text('path'));
    return [
      quoted(out.text('pattern') || args.text('pattern')),
      matches(out.list('matches').length, out.number('total_matches'), out.distinct('matches', 'path'), 'file'),
      within === 'workspace' ? '' : within,
    ];
  },
  'fm.analysis': (_args, out) => [
    out.text('model') !== '' ? `by ${out.text('model')}` : (SOURCES[out.text('source')] ?? out.text('source')),
  ],
};

/** What a call without a result is about. */
function subjectOf(name: string, args: Fields): string {
  if (args.text('pattern') !== '') return quoted(args.text('pattern'));
  const path = args.text('path');
  if (path === '') return args.text('sessionId') === '' ? '' : short(args.text('sessionId'));
  const from = args.number('startLine') ?? args.number('start_line');
  const to = args.number('endLine') ?? args.number('end_line');
  return name === 'content.get_span' && from !== undefined && to !== undefined
    ? `${path} · lines ${from}–${to}`
    : folder(path);
}

function matches(shown: number, total: number | undefined, places: number, place: string): string {
  const all = total ?? shown;
  if (all === 0) return 'no matches';
  const number = shown < all ? `${shown} of ${plural(all, 'match', 'matches')}` : plural(all, 'match', 'matches');
  return places > 0 ? `${number} in ${plural(places, place)}` : number;
}

function counted(output: unknown): string {
  if (Array.isArray(output)) return plural(output.length, 'item');
  if (typeof output === 'number' || typeof output === 'boolean') return String(output);
  return '';
}

function some(n: number, one: string): string {
  return n === 0 ? '' : plural(n, one);
}

const quoted = (text: string): string => (text === '' ? '' : `'${shortened(text)}'`);
const folder = (path: string): string => (path === '' || path === '.' ? 'workspace' : path);
const short = (id: string): string => (id.length > 9 ? `session ${id.slice(0, 8)}…` : `session ${id}`);
const shortened = (text: string): string => {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
};
const joined = (parts: string[]): string => parts.filter((part) => part !== '').join(' · ');

/** A path for display: relative if it is in the workspace. */
export function relative(path: string, root: string): string {
  const base = root.endsWith('/') ? root : `${root}/`;
  return root !== '' && path.startsWith(base) && path.length > base.length ? path.slice(base.length) : path;
}
