//! The domain of OpenAgents Desktop: a workspace, bounded tools, the history that coding agents left behind,
//! plans, and the exploration that ties them together.
//!
//! **Architecture invariant:** nothing here knows a wire format, a socket, a window or a terminal. The serde form
//! of the types in [`update`] is the event store's; each dialect converts by hand in `openagents-bridge`.

pub mod agent;
pub mod agent_ids;
pub mod approval;
pub mod budget;
pub mod builtin;
pub mod delegate;
pub mod explore;
pub mod folders;
pub mod helper;
pub mod history;
mod isolated;
pub mod model;
pub mod plan;
pub mod repository;
pub mod routing;
mod text;
pub mod tool;
pub mod update;
mod walk;
pub mod workspace;

pub use tokio_util::sync::CancellationToken;
