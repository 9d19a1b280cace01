/** What stands in a field: `0.7` for the 0.699999988 that a single-precision number becomes on the wire. */
export function shownNumber(value: number | null): string {
  return value === null ? '' : String(Math.round(value * 10_000) / 10_000);
}

/** What a field says; `undefined` while it says nothing that could be sent. Whether it is in range is the bridge's word. */
export function typedNumber(text: string): number | undefined {
  const trimmed = text.trim().replace(',', '.');
  const value = Number(trimmed);
  return trimmed === '' || !Number.isFinite(value) ? undefined : value;
}
