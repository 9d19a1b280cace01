import type { Evidence, FactPlace, Finding, Summary } from '../connection/wire';

const PROVIDERS: Record<string, string> = {
  amp: 'Amp',
  'claude-code': 'Claude Code',
  claude_code: 'Claude Code',
  cline: 'Cline',
  codex: 'Codex',
  copilot: 'GitHub Copilot CLI',
  cursor: 'Cursor',
  droid: 'Factory Droid',
  gemini: 'Gemini CLI',
  goose: 'Goose',
  openclaw: 'OpenClaw',
  qwen: 'Qwen Code',
};

const HEADINGS: Record<string, string> = {
  session_analyze: 'Intent From Session History',
  fm: 'Inferred Intent (FM)',
  gptoss: 'Inferred Intent (GPTOSS)',
  readme: 'Inferred Intent (README)',
};

export function providerName(id: string): string {
  return PROVIDERS[id] ?? id;
}

/** `src/pair.rs:88`, `codex 19fba3d:214`; line 0 means the session's title. */
export function citation(evidence: Evidence): string {
  if (evidence.kind === 'file') return `${evidence.path}:${evidence.line}`;
  const where = evidence.line > 0 ? `:${evidence.line}` : '';
  return `${evidence.provider} ${shortId(evidence.session_id)}${where}`;
}

/** `src/pair.rs:12-40`, `codex 19fba3d:7`. */
export function locationOf(finding: Finding): string {
  const where = 'path' in finding ? finding.path : `${finding.provider} ${shortId(finding.session_id)}`;
  return `${where}:${linesOf(shownOf(finding))}`;
}

/** The first and last line of the excerpt. What was found may lie in a longer passage; a session's log has other lines. */
export function shownOf(finding: Finding): Pick<Finding, 'start' | 'end'> {
  const numbers = finding.lines?.filter((number) => number > 0) ?? [];
  const [first, last] = [numbers[0], numbers.at(-1)];
  return 'path' in finding && first !== undefined && last !== undefined ? { start: first, end: last } : finding;
}

/** `src/pair.rs:12-40`, `src/pair.rs` if the whole is meant, `codex 19fba3d`. */
export function placeWords(place: FactPlace): string {
  const where = 'path' in place ? place.path : `${place.provider} ${shortId(place.session_id)}`;
  return place.start === 0 ? where : `${where}:${linesOf(place)}`;
}

/** `12-40`, or `7` for a single line. */
export function linesOf({ start, end }: Pick<Finding, 'start' | 'end'>): string {
  return end > start ? `${start}-${end}` : String(start);
}

/** The first part of a UUID, which is enough to tell sessions apart. */
function shortId(id: string): string {
  return id.length > 9 ? id.slice(0, 7) : id;
}

export function heading(summary: Summary): string | null {
  if (summary.source === 'model' && summary.model !== undefined) return `Inferred Intent (${summary.model})`;
  return HEADINGS[summary.source] ?? null;
}

/** The last part of a path, for display: `bridge` of `/home/me/code/bridge`. */
export function baseName(path: string): string {
  const parts = path.split(/[\\/]/).filter((part) => part !== '');
  return parts.at(-1) ?? path;
}

/** Shortens a home folder to `~`, guessing from the usual locations. */
export function tilde(path: string): string {
  return path.replace(/^(?:\/(?:home|Users)\/[^/]+|\/root)(?=\/|$)/, '~');
}
