/** One goal per line; empty lines and list marks are dropped. */
export function parseGoals(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*•]\s+)?/, '').trim())
    .filter((line) => line !== '');
}
