import type { Findings } from '../connection/wire';
import { plain } from '../kit/text';

/** How a question about the last answer begins, or points at it, in six languages. */
const FOLLOWS = new RegExp(
  [
    String.raw`^(?:and|but|und|aber|y|pero|et|mais)\s`,
    String.raw`(?<!\p{L})(?:is|are|was|does|do|calls?|uses?|tests?|of|for|in|about|from|to|by|with) (?:that|those)$`,
    String.raw`(?<!\p{L})(?:is|are|was|does|do) (?:that|those) `,
    String.raw`(?<!\p{L})(?:davon|dafür|dort|darin|eso|ahí|cela|ça)(?!\p{L})`,
    String.raw`それ(?!ぞれ)|そこ|那个|那裡|那里|(?<![其吉])它`,
  ].join('|'),
  'iu',
);

/** Text after the end of a sentence. */
const SECOND_SENTENCE = /[.!?。？！]\s*\S/u;

/** Whether a question is about the last answer: "And where is that tested?" */
export function isFollowUp(question: string): boolean {
  const only = question.trim();
  return !SECOND_SENTENCE.test(only) && FOLLOWS.test(only.replace(/[\s.!?。？！]+$/u, ''));
}

/** Characters of a name that a question carries. */
const NAME = 100;

/** What a question after an answer may be about: the symbol and the folder of its best finding. */
export function subjectsOf(found: Findings | undefined): string[] {
  const best = found?.findings[0];
  if (best === undefined || !('path' in best) || best.symbol === undefined) return [];
  const folder = best.path.slice(0, best.path.lastIndexOf('/') + 1);
  // A name from a repository becomes the user's words only if it is what it seems to be.
  const isPlain = (name: string): boolean => name === plain(name) && !/[`\s]/u.test(name);
  return [best.symbol, folder].filter((name) => name !== '' && name.length <= NAME && isPlain(name));
}

/** A question with its subjects, as it is sent. */
export function withSubjects(question: string, subjects: readonly string[]): string {
  const named = subjects.map((subject) => `\`${subject}\``);
  return named.length === 0 ? question : `${question} (${named.join(', ')})`;
}
