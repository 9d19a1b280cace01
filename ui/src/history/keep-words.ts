import type { DeletedSoon, KeepSnapshot, KeptCopy } from '../connection/wire';
import { plural, size } from '../words/amounts';

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** Says that a session is read from its copy, and since when. */
export function keptWords(agent: string, { goneSince, reason }: KeptCopy): string {
  const on = (goneSince ?? null) === null ? '' : ` on ${DAY.format(goneSince)}`;
  if (reason === 'prompts') return `Prompts only · ${agent} no longer has the session`;
  if (reason === 'retention') return `Kept copy · deleted by ${agent}${on}`;
  return reason === 'deleted' ? `Kept copy · deleted in ${agent}${on}` : 'Kept copy · its log no longer exists';
}

/** Says that an agent's log has less than before, or something else. */
export function replacedWords(agent: string, at: number): string {
  return `${agent} rewrote this log on ${DAY.format(at)}`;
}

/** Which agents delete sessions, and when. */
export function deletionWords(soon: readonly DeletedSoon[]): string {
  const days = soon[0]?.days;
  if (days === undefined) return 'Agents delete and rewrite their sessions.';
  const names = soon.map(({ agent }) => agent).join(' and ');
  const verb = soon.length === 1 ? 'deletes' : 'delete';
  return soon.every((other) => other.days === days)
    ? `${names} ${verb} sessions after ${plural(days, 'day')}.`
    : soon.map(({ agent, days }) => `${agent} deletes sessions after ${plural(days, 'day')}.`).join(' ');
}

/** What an agent does the next time it starts; null if that deletes nothing. */
export function nextDeletion({ agent, now }: DeletedSoon): string | null {
  return now === 0 ? null : `${agent} deletes ${plural(now, 'session')} the next time it starts.`;
}

/** What is stored. */
export function storedWords({ sessions, gone, bytes, rawBytes }: KeepSnapshot): string {
  const lost = gone === 0 ? '' : `, ${gone.toLocaleString('en-US')} of them gone`;
  const of = bytes < rawBytes ? ` for ${size(rawBytes)}` : '';
  return `${plural(sessions, 'session')}${lost} · ${size(bytes)}${of}`;
}
