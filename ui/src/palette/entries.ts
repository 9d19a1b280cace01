import { fold } from '../kit/text';
import type { Entry } from '../session/entry';
import type { IconName } from '../kit/icons';
import { plural } from '../words/amounts';
import type { FoundKind, NotSearched } from './palette.svelte';

/** Something to open or run. */
export interface PaletteEntry {
  key: string;
  group: 'Sessions' | 'Found in sessions' | 'Workspaces' | 'Agents' | 'Commands' | 'Not searched';
  icon: IconName;
  title: string;
  /** One line of details. */
  note: string;
  /** Keys that do the same. */
  keys?: string;
  /** The palette stays open. */
  stays?: true;
  run: () => void;
}

/** Rows per group. */
const MOST = 8;
/** Sessions matched per keystroke, newest first. */
const SCANNED = 50_000;

/** The folded texts of entries, made once. */
const TEXTS = new WeakMap<object, string>();

function textOf(entry: object, text: () => string): string {
  let known = TEXTS.get(entry);
  if (known === undefined) TEXTS.set(entry, (known = fold(text())));
  return known;
}

/** The folded words of a query; a phrase in double quotes counts as one. */
export function wordsOf(query: string): string[] {
  const words = fold(query).matchAll(/"([^"]*[^"\s][^"]*)"(?=\s|$)|\S+/gu);
  return [...words].map(({ 0: word, 1: quoted }) => (quoted ?? word).trim());
}

/** The first sessions with the query's words, newest first. */
export function sessionsWith(query: string, sessions: readonly Entry[], name: (path: string) => string): Entry[] {
  const words = wordsOf(query);
  const found: Entry[] = [];
  for (const entry of sessions.slice(0, SCANNED)) {
    const text = textOf(entry, () =>
      [entry.title, entry.agent, entry.cwd === null ? '' : name(entry.cwd), entry.branch ?? ''].join(' '),
    );
    if (words.every((word) => text.includes(word)) && found.push(entry) === MOST) break;
  }
  return found;
}

/** The first matching entries of each group; text results match already. */
export function matching(entries: readonly PaletteEntry[], query: string): PaletteEntry[] {
  const words = wordsOf(query);
  const counts = new Map<string, number>();
  return entries.filter((entry) => {
    const found = entry.group === 'Found in sessions';
    if (!found && !words.every((word) => textOf(entry, () => `${entry.title} ${entry.note}`).includes(word)))
      return false;
    const count = (counts.get(entry.group) ?? 0) + 1;
    counts.set(entry.group, count);
    return count <= MOST || found;
  });
}

/** `Claude Code · harbour · 3d ago` */
export function sessionNote(
  { agent, cwd }: { agent: string; cwd: string | null },
  name: (path: string) => string,
  ago: string,
): string {
  return [agent, cwd === null ? null : name(cwd), ago].filter((part) => part !== null).join(' · ');
}

const KINDS: Readonly<Record<FoundKind, string>> = {
  title: 'Title',
  prompt: 'Prompt',
  answer: 'Answer',
  call: 'Tool call',
  file: 'File',
};

/** `The ends of 3 long sessions, tool output` */
export function leftNote({ sessionEnds, longMessages, toolOutput }: NotSearched): string {
  const ends = [
    sessionEnds > 0 ? plural(sessionEnds, 'long session') : null,
    longMessages > 0 ? plural(longMessages, 'long message') : null,
  ].filter((part) => part !== null);
  const left = [toolOutput ? 'tool output' : null, ends.length > 0 ? `the rest of ${ends.join(' and ')}` : null]
    .filter((part) => part !== null)
    .join(', ');
  return left.charAt(0).toUpperCase() + left.slice(1);
}

/** `Prompt: …as in src/pair.rs` */
export function foundNote(kind: FoundKind | undefined, snippet: string | undefined, about: string): string {
  const what = kind === undefined ? null : KINDS[kind];
  const match = what !== null && snippet !== undefined ? `${what}: ${snippet}` : (what ?? snippet);
  return [match, about].filter((part) => part !== undefined).join(' · ');
}
