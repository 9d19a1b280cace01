import { asSentence } from '../connection/sentence';
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
