//! What runs a model: the helper program, or the same code in this process for tests.

pub mod memory;
mod reports;

pub use reports::{Next, next_report};

use openagents_core::{
    CancellationToken,
    model::{ModelError, ModelEvent, ModelRequest, StopReason},
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};

/// Loads one model at a time and lets it answer. Every method blocks.
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// Loads a model in place of the one before, which is gone even after an error; tells the share that is loaded, 0.0 to 1.0.
    fn load(
        &self,
        load: &LoadRequest,
        cancel: &CancellationToken,
        on_progress: &mut dyn FnMut(f32),
    ) -> Result<Loaded, ModelError>;

    /// Answers with the loaded model. A slow `on_event` stops the generation, memory does not grow.
    fn generate(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError>;

    /// Gives all memory back. Does nothing when no model is loaded.
    fn unload(&self);

    /// Returns what is loaded; `None` after an unload or a crash.
    fn loaded(&self) -> Option<Loaded>;

    /// Returns the resident memory of the process that holds the model, in bytes.
    fn memory_bytes(&self) -> Option<u64>;

    /// Waits until a command that was cancelled has ended, or the engine with it: then [`Engine::loaded`] is what the
    /// next request finds.
    fn settle(&self, _cancel: &CancellationToken) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns what llama.cpp can compute on, and its free memory as it was when the process started; starts it when
    /// it has to.
    fn devices(&self, _cancel: &CancellationToken) -> Result<Vec<Device>, ModelError> {
        Ok(Vec::new())
    }

    /// Calls `told` whenever what holds the model has ended, from any thread. It must not block.
    fn on_end(&self, _told: Arc<dyn Fn() + Send + Sync>) {}
}

/// Something that llama.cpp computes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// `Metal`, `CUDA0`, `CPU`.
    pub name: String,
    /// `Apple M2 Pro`.
    pub description: String,
    /// It is a graphics processor: the model goes there.
    pub gpu: bool,
    /// Bytes of its memory in all.
    pub memory_total: u64,
    /// Bytes of its memory that are free.
    pub memory_free: u64,
}

/// What to load, and how.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// The GGUF file.
    pub path: PathBuf,
    /// Tokens of the context.
    pub context_tokens: u32,
    /// Threads on the CPU; `None` for as many as there are performance cores.
    #[serde(default)]
    pub threads: Option<u32>,
}

/// A model that is in memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// The GGUF file.
    pub path: PathBuf,
    /// What the file says about itself.
    pub name: String,
    /// `gpt-oss`, `llama`.
    pub architecture: String,
    /// Tokens that its context holds.
    pub context_tokens: u32,
    /// Its template has a place for tools, and its answers are parsed for calls.
    pub tools: bool,
}
