import { expect, test } from 'vitest';
import { busy, type Signs } from './busy';

const REST: Signs = { turn: false, active: false, sent: [], request: null, heard: 7, stored: false };
const [SENT, ADRIFT] = [{ adrift: false }, { adrift: true }];

test.each<[string, Partial<Signs>, boolean, number | null]>([
  ['at rest', {}, false, null],
  ['a turn', { turn: true }, true, null],
  ['the turn of a stored copy', { turn: true, stored: true }, false, null],
  ['a model that is active outside a turn', { active: true }, true, null],
  ['a prompt that was sent', { sent: [SENT] }, true, null],
  ['a prompt whose connection broke', { sent: [ADRIFT] }, false, null],
  ['one that was sent after it', { sent: [ADRIFT, SENT] }, true, null],
  ['a request without news', { sent: [SENT], request: { since: 100, heard: 7 } }, true, 100],
  ['a request with news', { sent: [SENT], request: { since: 100, heard: 6 } }, true, null],
  ['an exploration without news', { request: { since: 100, heard: 7 } }, true, 100],
  ['an exploration with news whose turn is over', { request: { since: 100, heard: 6 } }, false, null],
])('%s', (_name, signs, working, waitingSince) =>
  expect(busy({ ...REST, ...signs })).toEqual({ working, waitingSince }),
);
