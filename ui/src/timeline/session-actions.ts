import { createContext } from 'svelte';
import type { Approval } from '../connection/agents-wire';
import type { Unfolded } from '../kit/unfolded.svelte';
import type { Evidence, Finding, Summary } from '../connection/wire';
import type { Row } from './rows';

/** The session's data and actions for rows at any depth. */
interface SessionActions {
  /** The session of the timeline. */
  sessionId(): string;
  root(): string;
  /** The unfolded parts of its rows, by the row's key and the part's name. */
  unfolded(): Unfolded;
  now(): number;
  live(): boolean;
  /** Why an approval cannot be answered on this device; null if it can. */
  limit(approval: Approval): string | null;
  agentName(id: string): string;
  isLocal(id: string): boolean;
  /** Resolves with the approval's state: another device may have been first. */
  answer(sessionId: string, approvalId: string, optionId: string, message?: string): Promise<Approval>;
  resume(sessionId: string, approvalId: string): Promise<void>;
  stop(sessionId: string): void;
  show(sessionId: string): void;
  /** Reads the session of a sub-agent that the row `of` started; null where its log is not one of another agent. */
  child(sessionId: string, of: string): ChildSession | null;
  /** Opens the inspector on a finding of the message `key`. */
  inspect(key: string, at: number): void;
  /** Opens workspace files in the user's editor; null if they are on another machine. */
  editor(): FileOpener | null;
  /** Sends findings of the message `key` to an agent; null if that is not possible. */
  ask(): ((key: string, findings: readonly Finding[]) => void) | null;
  /** Opens the inspector on a piece of evidence. */
  cite(evidence: Evidence): void;
  /** Prompts can be sent now. */
  canPrompt(): boolean;
  prompt(text: string): void;
  /** Suggests a brief for another agent; null if nothing can be delegated. */
  delegate(): ((summary: Summary) => void) | null;
  /** A prompt is queued behind the running turn. */
  queued(messageId: string): boolean;
  /** Shows or hides turns that were taken back; absent where there are none. */
  toggleTakenBack?: (key: string) => void;
  takenBackShown?: (key: string) => boolean;
  /** An approval scrolled into or out of view. */
  sees(approvalId: string, inSight: boolean): void;
}

/** The session of a sub-agent, which is read from its end. */
interface ChildSession {
  readonly rows: readonly Row[];
  /** Its last part has been read. */
  readonly read: boolean;
  /** There are earlier rows. */
  readonly more: boolean;
  readonly problem: string | null;
  /** Reads what is appended, until the returned function is called. */
  follow(): () => void;
}

interface FileOpener {
  /** `Open in Zed` */
  label: string;
  keys: string;
  open(path: string, line: number): void;
}

export const [useSessionActions, provideSessionActions] = createContext<SessionActions>();
