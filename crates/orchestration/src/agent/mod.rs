//! The agent loop: sends a prompt to a model with tools, runs the requested calls and returns their results, until the
//! model answers. Every step is emitted as it happens.
//!
//! The order of the updates is part of the product: preambles as thoughts, each call with its arguments and its end,
//! the answer in chunks that share a message id, the last one with the figures. A turn that ends without an answer has
//! exactly one final message with the reason. **Architecture invariant:**
//! [`Reasoning`](openagents_core::model::Reasoning) goes into the next request of the same turn and nowhere else.

mod agent_loop;
mod answer;
mod calls;
mod generate;
mod grounding;
pub mod inline;
mod instructions;
mod limits;
mod model_agent;
mod row;
mod run;
#[cfg(test)]
pub(crate) mod testing;
mod title;

pub use crate::agent::agent_loop::{HistoryRead, SessionContext, SessionTool};
pub use agent_loop::{AgentLoop, PromptRequest};
pub use generate::Generate;
pub use instructions::instructions;
pub use model_agent::ModelAgent;
pub use title::title;

#[cfg(test)]
mod tests;
