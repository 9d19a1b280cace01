import { RequestError } from '@agentclientprotocol/sdk';

/** One sentence for a person out of whatever a request threw. */
export function sentence(error: unknown): string {
  if (error instanceof RequestError) {
    const data = error.data as { details?: unknown; message?: unknown } | string | undefined;
    const detail = typeof data === 'string' ? data : (data?.details ?? data?.message);
    return typeof detail === 'string' && !error.message.includes(detail) ? `${error.message}: ${detail}` : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}

/** An error of a program as a sentence: with a capital and a full stop. */
export function asSentence(error: string): string {
  const text = error.charAt(0).toUpperCase() + error.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
