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
