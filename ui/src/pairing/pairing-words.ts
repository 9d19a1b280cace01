import { asSentence } from '../connection/errors.svelte';
import { Refusal } from './pairing-wire';

/** Why a code was refused, and what to do. */
export function refusedWords(error: unknown): string {
  if (!(error instanceof Refusal))
    return "OpenAgents can't be reached. Check that this device is on the same network and try again.";
  switch (error.code) {
    case 'wrong_code':
      return 'This code is wrong. Check it against the one on the computer.';
    case 'expired':
      return 'This code has expired. Get a new one on the computer: Settings → Devices → Pair a device.';
    case 'used':
      return 'This code was already used. Get a new one on the computer: Settings → Devices → Pair a device.';
    case 'slow_down': {
      const seconds = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
      return `Too many attempts. Wait ${seconds === 1 ? 'a second' : `${seconds} seconds`} and try again.`;
    }
    default:
      return error.message === ''
        ? "OpenAgents didn't accept the code. Get a new one on the computer."
        : asSentence(error.message);
  }
}

export const DECLINED = 'Declined on the computer. If that was a mistake, pair again.';
export const EXPIRED = 'Not allowed in time. Get a new code on the computer and try again.';
export const LOST = 'The response was lost. If the device is listed on the computer, remove it there and pair again.';

/** The characters of a pairing code: Crockford's base 32, which omits ambiguous ones. */
const SIGNS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const MISTAKEN: Readonly<Record<string, string>> = { O: '0', I: '1', L: '1' };
const CODE_LENGTH = 8;

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

const DEVICES: [RegExp, string][] = [
  [/iPhone/, 'iPhone'],
  [/iPad/, 'iPad'],
  [/Android.*Mobile/, 'Android phone'],
  [/Android/, 'Android tablet'],
  [/CrOS/, 'Chromebook'],
  [/Mac OS X|Macintosh/, 'Mac'],
  [/Windows/, 'Windows PC'],
  [/Linux/, 'Linux PC'],
];
/** Most specific first, because most browsers claim to be several. */
const BROWSERS: [RegExp, string][] = [
  [/Edg(?:e|A|iOS)?\//, 'Edge'],
  [/OPR\/|Opera/, 'Opera'],
  [/SamsungBrowser/, 'Samsung Internet'],
  [/Firefox|FxiOS/, 'Firefox'],
  [/Chrome|CriOS|Chromium/, 'Chrome'],
  [/Safari/, 'Safari'],
];

/** A default name for the device that shows the page: `iPhone (Safari)`. An iPad claims to be a Mac. */
export function deviceName(userAgent: string, touchPoints = 0): string {
  const found = DEVICES.find(([pattern]) => pattern.test(userAgent))?.[1] ?? 'Device';
  const device = found === 'Mac' && touchPoints > 1 ? 'iPad' : found;
  const browser = BROWSERS.find(([pattern]) => pattern.test(userAgent))?.[1];
  return browser === undefined ? device : `${device} (${browser})`;
}
