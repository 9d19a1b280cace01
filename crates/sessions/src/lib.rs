//! Live sessions: a numbered log with readers, and the turns that write to it, one at a time.
//!
//! Readers pull: a reader has a position of its own and is woken when there is more. Whatever a client does, fast or
//! slow, first connection or tenth, what it sees is the log from some number on.
//!
//! **Architecture invariant:** nothing here knows a wire format, a socket or a device. The program above stores its own
//! tables through [`store::Store`].

mod answering;
mod answers;
mod approvals;
mod asking;
mod blocking;
mod card;
mod choosing;
mod delegating;
mod deleting;
mod error;
mod folding;
mod hosting;
mod hub;
mod known;
mod listing;
mod loading;
mod mirror;
mod modes;
mod pending;
mod policy;
mod providers;
mod queue;
mod replying;
mod running;
mod session;
mod turn;
mod unfinished;

pub mod prune;
pub mod store;
#[cfg(any(test, feature = "testing"))]
#[doc(hidden)]
pub mod testing;

pub use blocking::run_blocking;
pub use error::SessionError;
pub use folding::{Folded, Folding, StoredLog};
pub use hub::Hub;
pub use known::Recent;
pub use listing::{ListNews, ListWatch, Listed, Wanted};
pub use modes::{DEFAULT_MODE, Mode};
pub use policy::Policy;
pub use providers::Providers;
pub use queue::Waits;
pub use running::Explore;
pub use session::{Session, Wake};
pub use turn::{By, Said, Ticket, TurnEnd, TurnRequest};
