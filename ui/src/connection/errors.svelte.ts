import { RequestError } from '@agentclientprotocol/sdk';

/** An action that may fail: whether it is running, and why the last one failed. */
export class Attempt {
  busy = $state(false);
  problem = $state<string | null>(null);

  /** Resolves with whether the action succeeded. */
  async run(action: () => Promise<unknown>): Promise<boolean> {
    this.busy = true;
    this.problem = null;
    try {
      await action();
    } catch (error) {
      this.problem = asSentence(sentence(error));
    }
    this.busy = false;
    return this.problem === null;
  }
}

/** One sentence for the screen from anything that a request threw. */
export function sentence(error: unknown): string {
  if (error instanceof RequestError) {
    const data = error.data as { details?: unknown; message?: unknown } | string | undefined;
    const detail = typeof data === 'string' ? data : (data?.details ?? data?.message);
    return typeof detail === 'string' && !error.message.includes(detail)
      ? `${error.message}: ${detail}`
      : error.message;
  }
  return error instanceof Error ? error.message : String(error);
}

/** The bridge's code for programs, where the JSON-RPC code is not specific enough; null for any other error. */
export function faultKind(error: unknown): string | null {
  const data = error instanceof RequestError ? (error.data as { code?: unknown } | undefined) : undefined;
  return typeof data?.code === 'string' ? data.code : null;
}

/** A program's error as a sentence: with a capital letter and a full stop. */
export function asSentence(error: string): string {
  const text = error.charAt(0).toUpperCase() + error.slice(1);
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}
