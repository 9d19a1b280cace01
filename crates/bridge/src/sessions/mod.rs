//! Live sessions: a numbered log with readers, and the turns that write to it, one at a time.
//!
//! Readers pull: a reader has a position of its own and is woken when there is more. Whatever a client does, fast or
//! slow, first connection or tenth, what it sees is the log from some number on.

mod answering;
mod answers;
mod approvals;
mod asking;
mod card;
mod choosing;
mod delegating;
mod deleting;
mod folding;
mod hosting;
mod hub;
mod known;
mod listing;
mod loading;
mod mirror;
mod modes;
mod pending;
mod queue;
mod replying;
mod running;
mod session;
mod turn;
mod unfinished;

pub(crate) use folding::{Folded, Folding, StoredLog};
pub(crate) use hub::Hub;
pub(crate) use listing::{ListNews, ListWatch, Listed, Wanted};
pub(crate) use modes::{DEFAULT_MODE, Mode};
pub(crate) use queue::Waits;
pub use running::Explore;
pub(crate) use session::{Session, Wake};
pub(crate) use turn::{By, Said, Ticket, TurnEnd, TurnRequest};

/// Runs blocking work beside the event loop. `None` when it panicked or the runtime is going down.
pub(crate) async fn beside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(%error, "blocking work ended badly");
            None
        }
    }
}
