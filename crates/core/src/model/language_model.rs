//! The trait of language models.

use super::{
    event::{ModelEvent, StopReason},
    request::ModelRequest,
};
use crate::CancellationToken;
use serde::{Deserialize, Serialize};

/// Completes messages and may call tools.
pub trait LanguageModel: Send + Sync + std::fmt::Debug {
    /// Returns the id of the provider: `gptoss_20b`.
    fn id(&self) -> &str;

    /// Returns the display name: `GPTOSS 20B`.
    fn name(&self) -> String;

    /// Returns its capabilities.
    fn capabilities(&self) -> Capabilities;

    /// Returns the context size in tokens, if known: after a load.
    fn context_tokens(&self) -> Option<u32> {
        None
    }

    /// Returns whether a request would succeed now; checks disk and memory without loading.
    fn availability(&self) -> Availability;

    /// Answers on this thread and calls `on_event`, which applies backpressure.
    ///
    /// Loads the model if needed. Returns [`ModelError::Cancelled`] within 100 ms of a cancel. Requests run one at a
    /// time; others wait.
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError>;
}

/// Capabilities of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// It can call tools. Otherwise, no tools are offered to it.
    pub tools: bool,
    /// It runs on this machine.
    pub local: bool,
    /// It is in memory.
    pub loaded: bool,
}

/// Availability, with a remedy if unavailable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// Available.
    Ready,
    /// Unavailable for a reason that the user can act on: one sentence without a full stop.
    Unavailable(String),
}

/// Why a model did not answer. One sentence each, with the operand and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    /// Cancelled.
    #[error("Cancelled")]
    Cancelled,
    /// It cannot run at the moment.
    #[error("{0}")]
    Unavailable(String),
    /// The file cannot be loaded.
    #[error("{0}")]
    Load(String),
    /// The messages do not fit into the context.
    #[error(
        "the conversation has {needed} tokens and the model was loaded for {context}; start a new session or shorten the prompt"
    )]
    #[expect(missing_docs, reason = "the message names them")]
    ContextOverflow { needed: u32, context: u32 },
    /// The model's process exited; the next request starts a new one.
    #[error("the local model stopped unexpectedly ({0}); try again")]
    Crashed(String),
    /// The answer is malformed even after a retry.
    #[error("the model's answer could not be understood; try again or rephrase the prompt")]
    Malformed,
    /// Any other error.
    #[error("{0}")]
    Failed(String),
}
