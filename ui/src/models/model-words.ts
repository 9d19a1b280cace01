import type { Activity, ModelStatus, Usage } from '../connection/wire';

export const percent = (progress: number): string => `${Math.floor(Math.min(1, Math.max(0, progress)) * 100)}%`;

const STATUSES: Record<ModelStatus['state'], { words: string; tone: 'ok' | 'busy' | 'off' | 'bad' }> = {
  not_downloaded: { words: 'Not downloaded', tone: 'off' },
  downloading: { words: 'Downloading…', tone: 'busy' },
  paused: { words: 'Paused', tone: 'off' },
  verifying: { words: 'Verifying…', tone: 'busy' },
  not_loaded: { words: 'Not loaded', tone: 'off' },
  loading: { words: 'Loading…', tone: 'busy' },
  ready: { words: 'Ready', tone: 'ok' },
  generating: { words: 'Answering…', tone: 'ok' },
  error: { words: 'Needs attention', tone: 'bad' },
};
const ANSWERS = new Set<ModelStatus['state']>(['not_loaded', 'loading', 'ready', 'generating']);

/** The status of a model in one or two words. */
export const statusWords = ({ state }: ModelStatus): string => STATUSES[state].words;
export const statusTone = ({ state }: ModelStatus): string => STATUSES[state].tone;

/** Why a model cannot answer a prompt now; null if it can, loading included. */
export const unavailable = (status: ModelStatus): string | null =>
  ANSWERS.has(status.state) ? null : statusWords(status).toLowerCase();

/** The line at the end of a timeline: `Loading GPTOSS 20B… 43%`. */
export function activityWords(activity: Activity, model: string): string {
  switch (activity.state) {
    case 'waiting':
      return 'Waiting for another answer…';
    case 'silent':
      return `No sign of the agent for ${activity.seconds} s`;
    case 'loading':
      return `Loading ${model}… ${percent(activity.progress)}`;
    case 'reading_prompt':
      return `Reading prompt… ${percent(activity.progress)}`;
    case 'generating':
      return `${tokens(activity.tokens)} · ${rate(activity.tokensPerSecond)}`;
  }
}

/** `312 tokens · 24 tokens/s · first token 640 ms`. */
export function usageWords(usage: Usage): string {
  const parts = [tokens(usage.tokens), `first token ${wait(usage.firstTokenMs)}`];
  if (usage.tokensPerSecond > 0) parts.splice(1, 0, rate(usage.tokensPerSecond));
  return parts.join(' · ');
}

/** The remaining time of a download: `4 min left`. Empty if unknown. */
export function timeLeft(done: number, total: number, bytesPerSecond: number): string {
  if (total <= done || bytesPerSecond <= 0) return '';
  const seconds = (total - done) / bytesPerSecond;
  if (seconds < 90) return `${Math.ceil(seconds)} s left`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min left`;
  return `${Math.round(seconds / 3600)} h left`;
}

function tokens(n: number): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? 'token' : 'tokens'}`;
}

function rate(perSecond: number): string {
  return `${perSecond < 9.95 ? perSecond.toFixed(1) : Math.round(perSecond)} tokens/s`;
}

function wait(ms: number): string {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
}
