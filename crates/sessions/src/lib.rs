//! The sessions of OpenAgents Desktop: numbered logs in a store, and the turns that write to them, one at a time.
//!
//! Readers pull: each has its own position in the log and is woken when there is more. Every client, fast or slow, sees
//! the log from its own starting number on.
//!
//! **Architecture invariant:** nothing here knows about wire formats, sockets or devices. A program with its own tables
//! in the store passes the SQL that creates them to [`store::Store::open`].
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 1 | `blocking` | blocking work off the event loop |
//! | 1 | `modes` | the modes of a session |
//! | 1 | `policy` | permissions of one session |
//! | 1 | `prune` | shrinking JSON without changing its shape |
//! | 1 | `scope` | the session or delegate that an update belongs to |
//! | 1 | `wake` | waking connections |
//! | 2 | `store` | sessions, updates, approvals and decisions in SQLite; one thread writes |
//! | 3 | `changes` | changes to the session list |
//! | 3 | `error` | `SessionError` |
//! | 3 | `labels` | the user's labels for other agents' transcripts |
//! | 3 | `trusted` | the workspaces that the user trusts |
//! | 4 | `live` | one session in memory: end of the log, queue, approvals, readers; folding a log |
//! | 5 | `registry` | all sessions: finding, creating, listing; known workspaces |
//! | 6 | `turns` | routing prompts, running turns, delegates, answers to approvals |

mod blocking;
mod changes;
mod error;
mod labels;
mod live;
mod modes;
mod policy;
mod registry;
mod scope;
mod trusted;
mod turns;
mod wake;

pub mod prune;
pub mod store;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use blocking::run_blocking;
pub use changes::{ListNews, ListWatch, Listed, Wanted};
pub use error::SessionError;
pub use labels::TranscriptLabels;
pub use live::{
    Failure, Folded, Folding, Head, PromptContent, QueueState, Queued, Sender, Session, StoredLog, Ticket,
    TurnEnd, TurnRequest,
};
pub use modes::{DEFAULT_MODE, Mode};
pub use policy::Policy;
pub use registry::SessionRegistry;
pub use trusted::TrustedWorkspaces;
pub use turns::{Answerer, Explore, GivenAnswer, KnownSession, OptionChange, Providers, TurnExecutor};
pub use wake::{Wake, Watchers};
