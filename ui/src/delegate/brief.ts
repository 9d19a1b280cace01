import { LOCAL_MODE } from '../agents/agent-words';
import type { Finding, Summary } from '../connection/wire';
import { citation, locationOf } from '../words/places';

/** A prompt for another agent, as edited in the form. Lists have one entry per line. */
export interface Brief {
  /** Id of the agent, or `auto`. */
  provider: string;
  workspace: string;
  intent: string;
  evidence: string;
  acceptance: string;
  /** Globs of the files it may change; empty for all. */
  files: string;
  /** Minutes; empty for no limit. */
  minutes: string;
  summarize: boolean;
  dryRun: boolean;
}

const EMPTY: Brief = {
  provider: 'auto',
  workspace: '',
  intent: '',
  evidence: '',
  acceptance: '',
  files: '',
  minutes: '',
  summarize: true,
  dryRun: false,
};

/** The brief suggested by an exploration. */
export function briefOf(summary: Summary, workspace: string): Brief {
  const evidence = [...(summary.findings ?? []).map(evidenceOf), ...(summary.evidence ?? []).map(citation)];
  const files = summary.top_files ?? [];
  const named = files.filter((file) => !evidence.some((line) => line.startsWith(file)));
  return {
    ...EMPTY,
    workspace,
    intent: summary.intent ?? '',
    evidence: [...evidence, ...named].join('\n'),
    acceptance: 'The tests pass.\nThe change is as small as possible.',
  };
}

/** A question for an agent, with the findings for it. */
export function briefFor(question: string, findings: readonly Finding[], workspace: string): Brief {
  return { ...EMPTY, workspace, intent: question, evidence: findings.map(evidenceOf).join('\n') };
}

/** `src/pair.rs:12-40 pair_device` */
function evidenceOf(finding: Finding): string {
  const { symbol = '' } = finding;
  return `${locationOf(finding)} ${symbol.replace(/\s+/g, ' ')}`.trim();
}

export function argumentsOf(brief: Brief): Record<string, unknown> {
  const minutes = Number(brief.minutes.replace(',', '.'));
  const files = linesOf(brief.files);
  const parts = [brief.intent.trim(), listed('Evidence', brief.evidence), listed('Done when', brief.acceptance)];
  return {
    provider: brief.provider === LOCAL_MODE ? 'gptoss' : brief.provider,
    task: 'delegate',
    description: firstSentence(brief.intent),
    user_prompt: parts.filter((part) => part !== '').join('\n\n'),
    workspace_root: brief.workspace.trim(),
    summarize: brief.summarize,
    ...(files.length > 0 ? { files_include_glob: files } : {}),
    ...(brief.minutes.trim() !== '' && minutes > 0 ? { time_budget_ms: Math.round(minutes * 60_000) } : {}),
    ...(brief.dryRun ? { dry_run: true } : {}),
  };
}

/** What is missing before it can be sent; null if nothing is. */
export function missing(brief: Brief): string | null {
  if (brief.intent.trim() === '') return 'Enter a task.';
  if (brief.workspace.trim() === '') return 'Enter a workspace folder.';
  if (brief.minutes.trim() !== '' && !(Number(brief.minutes.replace(',', '.')) > 0))
    return 'Enter the time budget in minutes.';
  return null;
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function listed(heading: string, text: string): string {
  const lines = linesOf(text);
  return lines.length === 0 ? '' : `${heading}:\n${lines.map((line) => `- ${line}`).join('\n')}`;
}

function firstSentence(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim();
  const sentence = /^.*?[.!?](?=\s|$)/.exec(line)?.[0] ?? line;
  return sentence.length > 100 ? `${sentence.slice(0, 99)}…` : sentence;
}
