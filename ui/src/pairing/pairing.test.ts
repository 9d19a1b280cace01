import { expect, test } from 'vitest';
import { codeTyped, isWhole } from './code';
import { deviceName } from './device-name';
import { Refusal } from './pairing-wire';
import { refusedWords } from './pairing-words';

test.each([
  ['', '', false],
  ['k7qx', 'K7QX', false],
  ['k7qx2', 'K7QX-2', false],
  ['k7qx2m9p', 'K7QX-2M9P', true],
  [' K7QX – 2M9P ', 'K7QX-2M9P', true],
  ['o0iI-lL12', '0011-1112', true],
  ['uU!?', '', false],
  ['K7QX-2M9P-more', 'K7QX-2M9P', true],
])('the input %j is shown as %j', (typed, shown, whole) => {
  expect([codeTyped(typed), isWhole(typed)]).toEqual([shown, whole]);
});

const SAFARI = 'AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Mobile/15E148 Safari/604.1';
test.each([
  [`Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) ${SAFARI}`, 5, 'iPhone (Safari)'],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${SAFARI}`, 0, 'Mac (Safari)'],
  [`Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) ${SAFARI}`, 5, 'iPad (Safari)'],
  [
    'Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Mobile Safari/537.36',
    5,
    'Android phone (Chrome)',
  ],
  [
    'Mozilla/5.0 (Linux; Android 14; SM-X900) AppleWebKit/537.36 SamsungBrowser/25.0 Chrome/121.0.0.0 Safari/537.36',
    5,
    'Android tablet (Samsung Internet)',
  ],
  [
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0',
    0,
    'Windows PC (Edge)',
  ],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0', 0, 'Linux PC (Firefox)'],
  ['curl/8', 0, 'Device'],
])('%s', (userAgent, touchPoints, name) => {
  expect(deviceName(userAgent, touchPoints)).toBe(name);
});

test.each([
  [new Refusal('wrong_code', 'no', 0), /Check it/],
  [new Refusal('expired', 'no', 0), /expired.*new one/],
  [new Refusal('used', 'no', 0), /already.*new one/],
  [new Refusal('slow_down', 'no', 2_100), /Wait 3 seconds/],
  [new Refusal('slow_down', 'no', 0), /Wait a second/],
  [new Refusal('else', 'three devices wait already', 0), /^Three devices wait already\.$/],
  [new TypeError('Failed to fetch'), /can't be reached.*same network/],
])('%s', (error, words) => {
  expect(refusedWords(error)).toMatch(words);
});
