/** The characters of a pairing code: Crockford's base 32, which omits ambiguous ones. */
const SIGNS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MISTAKEN: Readonly<Record<string, string>> = { O: '0', I: '1', L: '1' };
export const CODE_LENGTH = 8;

/** Formats the typed characters: `k7qx2m` becomes `K7QX-2M`. Others are dropped. */
export function codeTyped(text: string): string {
  const signs = [...text.toUpperCase()]
    .map((sign) => MISTAKEN[sign] ?? sign)
    .filter((sign) => SIGNS.includes(sign))
    .slice(0, CODE_LENGTH)
    .join('');
  return signs.length > 4 ? `${signs.slice(0, 4)}-${signs.slice(4)}` : signs;
}

export function isWhole(code: string): boolean {
  return codeTyped(code).length === CODE_LENGTH + 1;
}
