import { createContext } from 'svelte';
import type { Approval, Evidence, Finding, Summary } from '../connection/wire';
import type { Unfolded } from '../kit/unfolded.svelte';
import type { Picture, Row } from '../session/rows';

/** The session's data and actions for rows at any depth. */
interface SessionActions {
  /** The session of the timeline. */
  sessionId(): string;
  root(): string;
  /** Fold state by row key and part name. */
  unfolded(): Unfolded;
  now(): number;
  live(): boolean;
  /** Why an approval cannot be answered on this device; null if it can. */
  limit(approval: Approval): string | null;
  agentName(id: string): string;
  isLocal(id: string): boolean;
  /** Resolves with the approval's state, since another device may have answered first. */
  answer(
    sessionId: string,
    approvalId: string,
    optionId: string,
    message?: string,
    content?: Record<string, unknown>,
  ): Promise<Approval>;
  resume(sessionId: string, approvalId: string): Promise<void>;
  stop(sessionId: string): void;
  /** Stops one sub-agent of this session's agent. */
  stopSubagent(id: string): void;
  show(sessionId: string): void;
  /** Opens the agent's own log of this session, from the note that says that it continues one; null elsewhere. */
  showLog(key: string): (() => void) | null;
  /** The sub-agent session that row `of` started; null except in another agent's log. */
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
  /** An image of a prompt in this session. */
  image(hash: string): Promise<Picture>;
  /** A prompt is queued behind the running turn. */
  queued(messageId: string): boolean;
  /** Shows or hides undone turns; absent where there are none. */
  toggleUndone?: (key: string) => void;
  undoneShown?: (key: string) => boolean;
  /** An approval scrolled into or out of view. */
  sees(approvalId: string, inSight: boolean): void;
}

/** A sub-agent's session, loaded from its end. */
interface ChildSession {
  readonly rows: readonly Row[];
  /** The last part is loaded. */
  readonly read: boolean;
  readonly more: boolean;
  readonly problem: string | null;
  /** Follows the log until the returned function is called. */
  follow(): () => void;
}

interface FileOpener {
  /** `Open in Zed` */
  label: string;
  keys: string;
  open(path: string, line: number): void;
}

export const [useSessionActions, provideSessionActions] = createContext<SessionActions>();
