//! Language models: messages, tool specs and options in, a stream of events out.
//!
//! **Architecture invariant:** no text reaches a model except through its chat template, so a request holds messages,
//! never a prompt; and no [`Reasoning`] becomes a [`SessionUpdate`](crate::update::SessionUpdate).

mod harmony_header;
mod language_model;
mod local;
mod request;
mod settings;
mod wire_names;

pub use crate::model::{
    language_model::{Activity, ModelEvent, StopReason, Usage, complete, complete_within},
    request::{Reasoning, THOUGHT_TAGS, tag_begun},
    settings::{NamedModel, PromptOptions},
};
pub use harmony_header::{HarmonyAddress, HarmonyChannel, HarmonyHeader};
pub use language_model::{Availability, Capabilities, LanguageModel, ModelError};
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
pub use wire_names::WireNames;
