//! The outcome of a turn, and how its client gets it.

use openagents_core::update::RunState;
use tokio::sync::oneshot;

/// Resolves when the turn has ended.
pub type Ticket = oneshot::Receiver<TurnEnd>;

/// The outcome of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// `Complete`, `Failed` or `Cancelled`.
    pub state: RunState,
    /// The model's answer reached a limit.
    pub cut_off: bool,
    /// Number of its last update.
    pub seq: u64,
    /// Set if its updates could not be stored.
    pub failure: Option<String>,
}

/// The receiver of a turn's outcome. Kept apart from the work, so that a panic in the run does not drop it.
#[derive(Debug)]
pub(crate) struct Asker(oneshot::Sender<TurnEnd>);

impl Asker {
    pub(crate) fn new() -> (Self, Ticket) {
        let (done, ticket) = oneshot::channel();
        (Self(done), ticket)
    }

    pub(crate) fn notify(self, end: TurnEnd) {
        // The client may be gone; the outcome is in the log.
        let _ = self.0.send(end);
    }
}
