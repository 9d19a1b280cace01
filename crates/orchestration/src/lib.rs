//! Answers questions about a workspace: the exploration, the agent loop over a local model, the choice of the agent
//! that answers a prompt, and the delegation of tasks to other agents.
//!
//! **Architecture invariant:** nothing here knows a wire format, a socket, a window or a terminal. Every event is
//! emitted as an [update](openagents_core::update) of a session.
//!
//! # Layers
//!
//! See `tests/layers`, which checks this table.
//!
//! | layer | module | contents |
//! |--:|---|---|
//! | 0 | `route` | the choice of the agent that answers a prompt |
//! | 0 | `survey` | workspace, history, findings and repository as one run sees them |
//! | 1 | `agent` | the agent loop |
//! | 2 | `delegate` | `delegate.run`: delegates a task to another agent |
//! | 2 | `plan` | planned steps, and their planners |
//! | 3 | `explore` | the exploration pipeline |

pub mod agent;
pub mod delegate;
pub mod explore;
pub mod plan;
pub mod route;
pub mod survey;
