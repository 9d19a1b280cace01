import type { LiveSession } from '../connection/wire';
import { age } from '../words/amounts';

const STATES: Readonly<Record<LiveSession['state'], string>> = {
  idle: 'Ready',
  working: 'Working',
  needs: 'Needs you',
  done: 'Done',
  failed: 'Failed',
  stopped: 'Stopped',
  unclear: 'Unclear',
};

/** `Needs you: approval` */
export function stateWords({ state, detail }: LiveSession): string {
  return detail === undefined ? STATES[state] : `${STATES[state]}: ${detail}`;
}

/** `Needs you: approval · 40s · Bash` */
export function liveWords(session: LiveSession, now: number): string {
  return [stateWords(session), age(session.since, now), session.tool].filter((part) => part !== undefined).join(' · ');
}

/** Why, and where it runs. */
export function evidenceWords({ evidence, certainty, place }: LiveSession): string {
  const why = certainty === 'inferred' ? `${evidence} (inferred).` : `${evidence}.`;
  return place === undefined ? why : `${why} It runs in ${place}.`;
}
