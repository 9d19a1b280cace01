//! One live session: the end of its log in memory, its queue of turns, its open approvals, and its readers.

mod agent_states;
mod approvals;
mod closing;
mod folding;
mod mirror;
mod queue;
mod session;
mod submit;
mod turn;

pub(crate) use approvals::Question;
pub(crate) use closing::{close, close_calls, final_message, load};
pub use folding::{Folded, Folding, StoredLog};
pub(crate) use mirror::{Mirror, ends_call};
pub use queue::QueueState;
pub(crate) use queue::{Next, Slot};
pub use session::{Failure, Head, Session};
pub(crate) use turn::{Asker, Card, Choice, Delegation, Prompt, Reply, Turn, Work};
pub use turn::{PromptContent, Queued, Sender, Ticket, TurnEnd, TurnRequest};
