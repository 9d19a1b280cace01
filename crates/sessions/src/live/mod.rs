//! One live session: the end of its log in memory, its queue of turns, its open approvals, and its readers.

mod approvals;
mod closing;
mod deleted;
mod folding;
mod label;
mod mirror;
mod mirrored;
mod queue;
mod session;
mod submit;
mod tail;
mod turn;
mod unstored;
mod work;

pub(crate) use approvals::Question;
pub(crate) use closing::{close, close_calls, load, word};
pub use folding::{Folded, Folding, StoredLog};
pub(crate) use mirror::{Mirror, ends};
pub(crate) use queue::Next;
pub use queue::Waits;
pub use session::{Failure, Head, Session};
pub(crate) use turn::{Asker, Turn};
pub use turn::{By, Queued, Ticket, TurnEnd, TurnRequest};
pub use work::Said;
pub(crate) use work::{Card, Choice, Delegation, Prompt, Reply, Work};
