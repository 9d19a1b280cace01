/** A prompt that was sent and not answered yet. */
export interface Sent {
  text: string;
  /** Identifies the prompt in the log, even if another client sends the same text. */
  promptId: string;
  /** It is in the session's log. */
  logged: boolean;
  /** The connection broke before the answer: only the log can tell whether it was received. */
  adrift: boolean;
}

/** A request of this page, in a session that was at rest. */
export interface Request {
  /** Milliseconds since the epoch, by this page's clock. */
  since: number;
  /** The session's `heard` at that moment. */
  heard: number;
}

/** What tells whether a session is busy. None of it is enough on its own. */
export interface Signs {
  /** A turn has begun and not ended, by the log and by the bridge's word on it. */
  turn: boolean;
  /** The model that answers is active. */
  active: boolean;
  /** Prompts of this page. */
  sent: readonly Pick<Sent, 'adrift'>[];
  /** The last request; null once its turn is over. */
  request: Request | null;
  /** The number of updates about the agents' work so far. */
  heard: number;
  /** A stored copy is shown: its turn may be long over. */
  stored: boolean;
}

export interface Busy {
  working: boolean;
  /** When the request was made that nothing has been heard about yet; null if there is none. */
  waitingSince: number | null;
}

/** Whether a session is busy, and since when it is silently so. */
export function busy({ turn, active, sent, request, heard, stored }: Signs): Busy {
  const waitingSince = request !== null && request.heard === heard ? request.since : null;
  return {
    working: (turn && !stored) || active || sent.some(({ adrift }) => !adrift) || waitingSince !== null,
    waitingSince,
  };
}
