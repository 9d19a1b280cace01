//! One live session: the end of its log in memory, its queue of turns, its open approvals, and its readers.

mod approvals;
mod closing;
mod deleted;
mod folding;
mod mirror;
mod mirrored;
mod queue;
mod session;
mod submit;
mod tail;
mod ticket;
mod turn;

pub(crate) use approvals::Question;
pub(crate) use closing::{close, close_calls, load, word};
pub use folding::{Folded, Folding, StoredLog};
pub(crate) use mirror::{Mirror, ends};
pub(crate) use queue::Next;
pub use queue::Waits;
pub use session::{Failure, Head, Session};
pub(crate) use ticket::Asker;
pub use ticket::{Ticket, TurnEnd};
pub use turn::{By, Queued, Said, TurnRequest};
pub(crate) use turn::{Card, Choice, Delegation, Prompt, Reply, Turn, Work};
