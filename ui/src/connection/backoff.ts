const FIRST = 500;
const MOST = 20_000;

/** The pause before reconnect number `attempt` (from 0). Jittered, so that many pages do not reconnect at once. */
export function pause(attempt: number, random: () => number = Math.random): number {
  const whole = Math.min(MOST, FIRST * 2 ** Math.min(attempt, 10));
  return Math.round(whole / 2 + (whole / 2) * random());
}
