import type { Findings } from '../connection/wire';

/** How a question about the last answer begins, or points at it, in six languages. */
const FOLLOWS = new RegExp(
  [
    String.raw`^(?:and|but|so|und|aber|y|pero|et|mais)\s`,
    String.raw`\b(?:is|are|was|does|do|calls?|uses?|tests?|of|for|in|about|from|to|by|with)\s+(?:that|those|there)\b`,
    String.raw`\b(?:davon|dafür|dort|darin|eso|ahí|cela|ça)(?![\p{L}])`,
    String.raw`それ|そこ|那个|那裡|那里|它`,
  ].join('|'),
  'iu',
);

/** Whether a question is about the last answer: "And where is that tested?" */
export function isFollowUp(question: string): boolean {
  return FOLLOWS.test(question.trim());
}

/** What a question after an answer may be about: the symbol and the folder of its best finding. */
export function subjectsOf(found: Findings | undefined): string[] {
  const best = found?.findings.find((finding) => 'path' in finding && finding.symbol !== undefined);
  if (best === undefined || !('path' in best) || best.symbol === undefined) return [];
  const folder = best.path.slice(0, best.path.lastIndexOf('/') + 1);
  return folder === '' ? [best.symbol] : [best.symbol, folder];
}

/** A question with its subjects, as it is sent. */
export function withSubjects(question: string, subjects: readonly string[]): string {
  const named = subjects.map((subject) => `\`${subject.replaceAll('`', '')}\``);
  return named.length === 0 ? question : `${question} (${named.join(', ')})`;
}
