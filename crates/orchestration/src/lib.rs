//! Answers questions about a workspace: the exploration, the agent loop over a local model, who answers a prompt, and
//! handing a task to another agent.
//!
//! **Architecture invariant:** nothing here knows a wire format, a socket, a window or a terminal. What happens is
//! emitted as [updates](openagents_core::update) of a session.
//!
//! # Layers
//!
//! A module uses modules of lower layers only, never one of its own layer or above. `tests/layers.rs` reads this table
//! and holds every file to it; a new module needs a row.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `route` | who answers a prompt |
//! | 0 | `survey` | workspace, history, findings and repository as one run sees them |
//! | 1 | `agent` | the agent loop |
//! | 2 | `delegate` | `delegate.run`: handing a task to another agent |
//! | 2 | `plan` | planned steps, and who plans them |
//! | 3 | `explore` | the exploration pipeline |

pub mod agent;
pub mod delegate;
pub mod explore;
pub mod plan;
pub mod route;
pub mod survey;
