//! Turns: selecting who answers, running it, and what a person decides meanwhile. Stands above the sessions: everything
//! here may start, find and write them; nothing below knows that turns are run.

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

pub use executor::TurnExecutor;
pub use providers::{Explore, Providers};
