//! The states of a session, and the evidence for them.

/// Milliseconds since the epoch.
pub type Millis = i64;

/// What a session's agent is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveState {
    /// It runs and has had no prompt yet.
    Idle,
    /// The next step is the agent's: a request, a tool, a sub-agent.
    Working,
    /// It cannot continue without the user, and can still be answered.
    Needs(Need),
    /// The last turn ended by itself.
    Done,
    /// The last turn ended with an error.
    Failed(Option<Failure>),
    /// A turn is unfinished and nothing continues it.
    Stopped(Stop),
    /// The evidence allows several states.
    Unclear(Doubt),
}

/// What the agent waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Approval,
    Question,
    /// A plan was written, and the user decides what to do with it.
    Plan,
    /// It shows a screen before its first prompt: trust, login, a new model.
    StartScreen,
    /// A dialog of the agent is open, such as its settings.
    Dialog,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    RateLimit,
    Login,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    ByUser,
    /// Its process is gone.
    Exited,
    Suspended,
    /// Its terminal is gone; the process still runs.
    WindowClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The agent logs a call only after it was answered.
    FinishedOrWaiting,
    /// Nothing was heard for a minute.
    WorkingOrWaiting,
}

/// How a state is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The agent publishes it.
    Reported,
    /// It is in the log, or in the table of processes.
    Seen,
    /// It follows from what is missing.
    Inferred,
}

/// A sentence that supports a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    pub kind: EvidenceKind,
    /// Without a full stop.
    pub text: String,
    pub at: Millis,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceKind {
    Process,
    /// A status that the agent publishes.
    Status,
    Log,
    Hook,
    /// The title of its terminal.
    Title,
}

/// A state with what supports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub state: LiveState,
    pub certainty: Certainty,
    pub evidence: Evidence,
}

impl Reading {
    pub(crate) fn new(
        state: LiveState,
        certainty: Certainty,
        (kind, at): (EvidenceKind, Millis),
        text: impl Into<String>,
    ) -> Self {
        Self { state, certainty, evidence: Evidence { kind, text: text.into(), at } }
    }
}
