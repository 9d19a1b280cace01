import type { Findings } from '../connection/wire';
import { plural } from '../words/plural';

/** `Nothing found for “expiry”`: the search terms come from the plain text of the message. */
export function emptyTitle(text: string): string {
  const asked = /^\*\*Found:\*\* nothing for (.+?)(?:; |\.?$)/m.exec(text)?.[1];
  return asked === undefined ? 'Nothing found' : `Nothing found for ${asked}`;
}

/** `3 places in 2 files and 1 session` */
export function countWords({ findings }: Findings): string {
  const places = findings.filter((finding) => 'path' in finding);
  const files = new Set(places.map(({ path }) => path)).size;
  const sessions = findings.length - places.length;
  return [
    ...(places.length === 0
      ? []
      : [
          places.length === files
            ? plural(files, 'file')
            : `${plural(places.length, 'place')} in ${plural(files, 'file')}`,
        ]),
    ...(sessions === 0 ? [] : [plural(sessions, 'session')]),
  ].join(' and ');
}

/** The words in backticks in a reason. */
export function matchedWords(why: string): string[] {
  return [...new Set([...why.matchAll(/`([^`]+)`/g)].flatMap(([, word]) => word ?? []))];
}
