//! One live session: the end of its log in memory, its queue of turns, its open approvals, and its readers.

mod approvals;
mod closing;
mod deleted;
mod folding;
mod mirror;
mod queue;
mod session;
mod submit;
mod turn;

pub(crate) use approvals::Question;
pub(crate) use closing::{close, close_calls, load, word};
pub use folding::{Folded, Folding, StoredLog};
pub(crate) use mirror::{Mirror, ends};
pub(crate) use queue::Next;
pub use queue::Waits;
pub use session::{Failure, Head, Session};
pub(crate) use turn::{Asker, Card, Choice, Delegation, Prompt, Reply, Turn, Work};
pub use turn::{By, Queued, Said, Ticket, TurnEnd, TurnRequest};
