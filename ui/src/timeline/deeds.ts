import { createContext } from 'svelte';
import type { Approval } from '../connection/agents-wire';
import type { Finding } from '../connection/wire';

/** What rows need from the session that they stand in, however deep, and what can be done from them. */
export interface Deeds {
  /** The session of the timeline. */
  sessionId(): string;
  /** Its workspace. */
  root(): string;
  now(): number;
  /** The link is up: there is somebody to ask. */
  live(): boolean;
  /** Why this device may not answer what agents ask; null when it may. */
  limit(): string | null;
  agentName(id: string): string;
  isLocal(id: string): boolean;
  /** Resolves with the approval as it stands then: somebody may have been first. */
  answer(sessionId: string, approvalId: string, optionId: string): Promise<Approval>;
  /** Lets the agent ask again. */
  resume(sessionId: string, approvalId: string): Promise<void>;
  /** Ends the turn of a session. */
  stop(sessionId: string): void;
  show(sessionId: string): void;
  /** Opens the inspector on a finding of the message `key`. */
  inspect(key: string, at: number): void;
  /** Opens a file of the workspace in the person's editor; null where that is on another machine. */
  editor(): FileOpener | null;
  /** Hands findings of the message `key` to an agent; null where that is not possible. */
  ask(): ((key: string, findings: readonly Finding[]) => void) | null;
  /** A prompt waits for the end of the running turn. */
  queued(messageId: string): boolean;
  /** An approval has come into sight, or left it. */
  sees(approvalId: string, inSight: boolean): void;
}

export interface FileOpener {
  /** `Open in Zed` */
  label: string;
  keys: string;
  open(path: string, line: number): void;
}

export const [useDeeds, provideDeeds] = createContext<Deeds>();
