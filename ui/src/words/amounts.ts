/** The duration of one thing: `2 ms`, `1.4 s`, `12 s`, `1:05`. */
export function duration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole === 0) return '<1 ms';
  if (whole < 1000) return `${whole} ms`;
  if (whole < 9950) return `${(whole / 1000).toFixed(1)} s`;
  if (whole < 59_500) return `${Math.round(whole / 1000)} s`;
  const seconds = Math.round(whole / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** The elapsed time of a run; the unit is stable while it counts up. */
export function elapsed(ms: number): string {
  if (ms < 50) return '<0.1 s';
  return ms < 9950 ? `${(ms / 1000).toFixed(1)} s` : duration(ms);
}

/** The elapsed time as a clock: `0:41`. */
export function clock(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** `512 B`, `1.2 kB`, `3.4 MB`, `12.1 GB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  if (bytes < 1_000_000_000) return `${(bytes / 1_000_000).toFixed(1)} MB`;
  return `${(bytes / 1_000_000_000).toFixed(1)} GB`;
}

/** `Thought for 12 s`, `Thought for 1:05`, `Thought briefly`. */
export function thoughtWords(ms: number): string {
  if (ms < 1000) return 'Thought briefly';
  return `Thought for ${ms < 59_500 ? `${Math.round(ms / 1000)} s` : duration(ms)}`;
}

/** `now`, `4m`, `2h`, `3d`, `5w` */
export function age(then: number, now: number): string {
  const minutes = Math.floor((now - then) / 60_000);
  if (minutes < 1) return 'now';
  if (minutes < 60) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours}h`;
  const days = Math.floor(hours / 24);
  return days < 14 ? `${days}d` : `${Math.floor(days / 7)}w`;
}

/** `just now`, `4m ago` */
export function ago(then: number, now: number): string {
  const since = age(then, now);
  return since === 'now' ? 'just now' : `${since} ago`;
}

const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

/** `950`, `80K`, `101K`, `11.9M`, `2.35B` */
export function compact(count: number): string {
  return COMPACT.format(count);
}

/** `1 file`, `1,204 files` */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? one : many}`;
}
