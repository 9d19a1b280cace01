//! Turns: routing prompts, running them, and answers to approvals. Built on the sessions, which do not know about
//! running turns.

mod approve;
mod context;
mod delegate;
mod executor;
mod host;
mod mentions;
mod options;
mod own_question;
mod own_sessions;
mod run;
mod runner;
mod trust;

pub use approve::{Answerer, GivenAnswer};
pub use executor::TurnExecutor;
pub use options::OptionChange;
pub use own_sessions::KnownSession;
pub use runner::{Explore, Providers};
