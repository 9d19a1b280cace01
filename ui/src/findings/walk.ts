/** The card that a key moves to; null if it leaves the list. */
export function walk(key: string, at: number, count: number): number | null {
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: count - 1 }[key];
  return to === undefined || to === at || to < 0 || to >= count ? null : to;
}
