import { asSentence } from '../connection/sentence';
import { Refusal } from './pairing-wire';

/** What went wrong with a code, and what to do about it. */
export function refusedWords(error: unknown): string {
  if (!(error instanceof Refusal)) return 'OpenAgents cannot be reached. Check that this device is in the same network, and try again.';
  switch (error.code) {
    case 'wrong_code':
      return 'No device is being paired with this code. Compare it with the one that the computer shows.';
    case 'expired':
      return 'This code has expired. Ask for a new one on the computer: Settings → Devices → Pair a device.';
    case 'used':
      return 'This code has paired a device already. Ask for a new one on the computer: Settings → Devices → Pair a device.';
    case 'slow_down': {
      const seconds = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
      return `Too many tries. Wait ${seconds === 1 ? 'a second' : `${seconds} seconds`} and try again.`;
    }
    default:
      return error.message === '' ? 'OpenAgents did not take the code. Ask for a new one on the computer.' : asSentence(error.message);
  }
}

export const DECLINED = 'The computer declined. If that was a mistake, pair again.';
export const EXPIRED = 'Nobody allowed this device in time. Ask for a new code on the computer and try again.';
export const LOST = 'The answer got lost on its way. Remove the device on the computer if it stands there, and pair again.';
