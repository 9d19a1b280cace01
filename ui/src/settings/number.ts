/** The text of a number field: `0.7` for the 0.699999988 that a single-precision number becomes on the wire. */
export function shownNumber(value: number | null): string {
  return value === null ? '' : String(Math.round(value * 10_000) / 10_000);
}

/** The number in a field; `undefined` if it is not one. The bridge checks the range. */
export function typedNumber(text: string): number | undefined {
  const trimmed = text.trim().replace(',', '.');
  const value = Number(trimmed);
  return trimmed === '' || !Number.isFinite(value) ? undefined : value;
}
