/** The letters and the hue of the agents that have sessions; the hues are tokens. */
const KNOWN: Readonly<Record<string, readonly [string, 1 | 2 | 3 | 4]>> = {
  'claude-code': ['Cl', 1],
  codex: ['Cx', 2],
  gemini: ['Ge', 4],
  qwen: ['Qw', 3],
  copilot: ['Co', 4],
  cursor: ['Cu', 2],
  opencode: ['Oc', 3],
  openclaw: ['Ow', 1],
};

/** The letters of an agent's badge: `Cl`; for agents that are not known, the first two of the name. */
export function badgeLetters(provider: string | null, name: string): string {
  return provider === null ? 'OA' : (KNOWN[provider]?.[0] ?? name.replace(/[^\p{L}\d]/gu, '').slice(0, 2));
}

/** The colour of an agent's badge: the accent for our own sessions. */
export function badgeColour(provider: string | null): string {
  if (provider === null) return 'var(--accent)';
  const other = ([...provider].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 4) + 1;
  return `var(--hue-${KNOWN[provider]?.[1] ?? other})`;
}
