//! The engine that runs a model.

use openagents_core::{
    CancellationToken,
    model::{ModelError, ModelEvent, ModelRequest, StopReason},
};
use serde::{Deserialize, Serialize};
use std::{path::PathBuf, sync::Arc};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// Loads one model at a time and generates answers. Every method blocks.
pub trait Engine: Send + Sync + std::fmt::Debug {
    /// Loads a model; the current one is unloaded first, even if loading then fails. Reports progress from 0.0 to 1.0.
    fn load(
        &self,
        load: &LoadRequest,
        cancel: &CancellationToken,
        on_progress: &mut dyn FnMut(f32),
    ) -> Result<Loaded, ModelError>;

    /// Generates an answer with the loaded model. A slow `on_event` slows down the generation; memory does not grow.
    fn generate(
        &self,
        request: &ModelRequest,
        cancel: &CancellationToken,
        on_event: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError>;

    /// Unloads the model and frees all memory. Does nothing if no model is loaded.
    fn unload(&self);

    /// Returns the loaded model; `None` after an unload or a crash.
    fn loaded(&self) -> Option<Loaded>;

    /// Returns the resident memory of the process that holds the model, in bytes.
    fn memory_bytes(&self) -> Option<u64>;

    /// Waits until a cancelled command or the engine has ended, so that [`Engine::loaded`] is up to date.
    fn settle(&self, _cancel: &CancellationToken) -> Result<(), ModelError> {
        Ok(())
    }

    /// Returns the compute devices, with their free memory at the start of the process; starts it if needed.
    fn devices(&self, _cancel: &CancellationToken) -> Result<Vec<Device>, ModelError> {
        Ok(Vec::new())
    }

    /// Calls `on_exit` from any thread when the process that holds the model has exited. It must not block.
    fn on_end(&self, _on_exit: Arc<dyn Fn() + Send + Sync>) {}
}

/// A compute device of llama.cpp.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// The name, for example `Metal`, `CUDA0` or `CPU`.
    pub name: String,
    /// The description, for example `Apple M2 Pro`.
    pub description: String,
    /// Whether it is a GPU, which holds the model.
    pub gpu: bool,
    /// Total memory in bytes.
    pub memory_total: u64,
    /// Free memory in bytes.
    pub memory_free: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRequest {
    /// The GGUF file.
    pub path: PathBuf,
    /// Context length in tokens.
    pub context_tokens: u32,
    /// CPU threads; `None` for the number of performance cores.
    #[serde(default)]
    pub threads: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// The GGUF file.
    pub path: PathBuf,
    /// The model's name from the file.
    pub name: String,
    /// The architecture, for example `gpt-oss` or `llama`.
    pub architecture: String,
    /// Context length in tokens.
    pub context_tokens: u32,
    /// Whether its template supports tools and its answers are parsed for calls.
    pub tools: bool,
}

/// Returns the resident memory of a process in bytes; `None` if there is no such process.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let pid = Pid::from_u32(process);
    let mut system = System::new();
    let kind = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), true, kind);
    system.process(pid).map(sysinfo::Process::memory)
}

#[cfg(test)]
mod tests {
    #[test]
    fn resident_bytes_needs_existing_process() {
        assert!(super::resident_bytes(std::process::id()).unwrap() > 1 << 20);
        assert_eq!(super::resident_bytes(u32::MAX - 1), None);
    }
}
