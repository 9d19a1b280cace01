//! One live session: the end of its log in memory, its queue of turns, its open approvals, and its readers.

mod approvals;
mod closing;
mod folding;
mod mirror;
mod queue;
mod session;
mod submit;
mod turn;

pub use crate::live::turn::Said;
pub(crate) use crate::live::turn::{Card, Choice, Delegation, Prompt, Reply, Work};
pub(crate) use approvals::Question;
pub(crate) use closing::{close, close_calls, load, word};
pub use folding::{Folded, Folding, StoredLog};
pub(crate) use mirror::{Mirror, ends};
pub(crate) use queue::Next;
pub use queue::Waits;
pub use session::{Failure, Head, Session};
pub(crate) use turn::{Asker, Turn};
pub use turn::{By, Queued, Ticket, TurnEnd, TurnRequest};
