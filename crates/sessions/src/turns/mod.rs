//! Turns: routing prompts, running them, and answers to approvals. Built on the sessions, which do not know about
//! running turns.

mod agent_choice;
mod answer;
mod approve;
mod card;
mod context;
mod delegate;
mod delete;
mod executor;
mod host;
mod providers;
mod reply;
mod run;
mod runner;
mod select;
mod trust;
mod trusted_folders;

pub use approve::Answerer;
pub use executor::TurnExecutor;
pub use providers::{Explore, Providers};
