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
mod own_question;
mod providers;
mod reply;
mod run;
mod runner;
mod select;
mod trust;
mod trusted_folders;
mod unasked;

pub use approve::Answerer;
pub use executor::TurnExecutor;
pub use providers::{Explore, Providers};
