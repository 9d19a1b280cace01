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
/** The most specific first: most browsers claim to be several. */
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
