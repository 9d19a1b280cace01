//! Language models: messages, tool specs and options in, a stream of events out.
//!
//! **Architecture invariant:** no text reaches a model except through its chat template, so a request holds messages,
//! never a prompt; and no [`Reasoning`] becomes a [`SessionUpdate`](crate::update::SessionUpdate).

mod completion;
mod event;
mod local;
mod request;
mod settings;

pub(crate) use completion::complete;
pub use event::{Activity, ModelEvent, Reasoning, StopReason, Usage};
pub use local::{
    DownloadOffer, LocalModels, LocalModelsError, MachineCard, ModelCard, ModelCommand, ModelStatus,
    ModelsSnapshot,
};
pub use request::{
    AssistantMessage, CallRequest, Message, ModelOptions, ModelRequest, ReasoningEffort, ToolSpec,
};
pub use settings::{
    IDLE_MINUTES, MODEL_SETTINGS, ModelSettings, SettingsChange, SettingsError, SettingsStore,
};

use crate::CancellationToken;
use serde::{Deserialize, Serialize};

/// Something that completes messages and may ask for tools.
pub trait LanguageModel: Send + Sync + std::fmt::Debug {
    /// Returns the id of the provider: `gptoss_20b`.
    fn id(&self) -> &str;

    /// Returns the name that people read: `GPTOSS 20B`.
    fn name(&self) -> String;

    /// Returns what it can do.
    fn capabilities(&self) -> Capabilities;

    /// Returns how many tokens its context holds, where that is known: after a load.
    fn context_tokens(&self) -> Option<u32> {
        None
    }

    /// Returns whether a request would be answered now; looks at the disk and the memory, loads nothing.
    fn availability(&self) -> Availability;

    /// Answers on this thread and tells `on_event` as it goes; a slow `on_event` slows the model down.
    ///
    /// Loads the model when it has to. Ends with [`ModelError::Cancelled`] within 100 ms of a cancel. One request runs
    /// at a time; another waits for its turn.
    fn respond(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError>;
}

/// What a model can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// It may ask for tools. One that cannot is given none.
    pub tools: bool,
    /// It runs on this machine: nothing leaves it.
    pub local: bool,
    /// It is in memory: the first token is near.
    pub loaded: bool,
}

/// Whether something would answer, and what to do when it would not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    /// It would.
    Ready,
    /// It would not, for a reason that a person can act on: one sentence without a full stop.
    Unavailable(String),
}

/// Why a model did not answer. One sentence each that names the operand and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelError {
    /// Somebody cancelled.
    #[error("Cancelled")]
    Cancelled,
    /// It cannot run here and now.
    #[error("{0}")]
    Unavailable(String),
    /// The file cannot be loaded.
    #[error("{0}")]
    Load(String),
    /// The messages do not fit.
    #[error(
        "the conversation has {needed} tokens and the model was loaded for {context}; start a new session or shorten the prompt"
    )]
    ContextOverflow {
        /// Tokens of the prompt.
        needed: u32,
        /// Tokens that the context holds.
        context: u32,
    },
    /// The process that ran it is gone; the next request starts another one.
    #[error("the local model stopped unexpectedly ({0}); try again")]
    Crashed(String),
    /// What it said makes no sense even after asking again.
    #[error("the model's answer could not be understood; try again or rephrase the prompt")]
    Malformed,
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}
