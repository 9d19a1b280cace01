//! What every agent on this computer is doing right now: working, waiting for the user, done, failed or stopped, with the
//! evidence.
//!
//! A [`LiveSession`] takes evidence as it appears, in the log, the table of processes, what the agent publishes, its hooks
//! and the title of its terminal, and says which state follows. It reads no clock: `now` is always given. An [`Observer`]
//! collects the evidence on this computer, without privileges.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `state` | the states, and the evidence for them |
//! | 1 | `tail` | the end of a log: the turn, and calls without a result |
//! | 1 | `processes` | the processes of one session |
//! | 2 | `system` | the processes of agents on this computer |
//! | 2 | `status` | what agents publish about themselves, and what their hooks report |
//! | 3 | `session` | the state that follows from all evidence |
//! | 4 | `observe` | the agents on this computer |
//! | 5 | `watcher` | a thread that observes them |

#[cfg(test)]
mod recordings_tests;

mod observe;
mod processes;
mod session;
mod state;
mod status;
mod system;
mod tail;
mod watcher;

pub use observe::{LiveRow, Observer};
pub use processes::{Owner, Processes, Terminal};
pub use session::LiveSession;
pub use state::{Certainty, Doubt, Evidence, EvidenceKind, Failure, LiveState, Millis, Need, Reading, Stop};
pub use status::{Record, Status, ThreadStatus};
pub use system::{Pane, ProcessFact, ProcessId, System};
pub use watcher::LiveWatcher;
