/** `2 ms`, `0.4 s`, `12 s`, `1:05`. */
export function duration(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 150) return `${whole} ms`;
  if (whole < 9950) return `${(whole / 1000).toFixed(1)} s`;
  if (whole < 59_500) return `${Math.round(whole / 1000)} s`;
  const seconds = Math.round(whole / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}

/** `512 B`, `1.2 kB`, `3.4 MB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}
