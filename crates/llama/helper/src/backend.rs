//! The llama.cpp backend, one per process.

use llama_cpp_2::{
    LlamaBackendDevice, LlamaBackendDeviceType, LlamaCppError, LogOptions, list_llama_ggml_backend_devices,
    llama_backend::LlamaBackend, send_logs_to_tracing,
};
use openagents_core::model::ModelError;
use openagents_llama::engine::Device;
use std::sync::LazyLock;

/// Returns the backend; the first call initializes it and sends its log to `tracing`.
pub(crate) fn backend() -> Result<&'static LlamaBackend, ModelError> {
    static BACKEND: LazyLock<Result<LlamaBackend, LlamaCppError>> = LazyLock::new(|| {
        send_logs_to_tracing(LogOptions::default());
        LlamaBackend::init()
    });
    BACKEND.as_ref().map_err(|error| ModelError::Unavailable(format!("cannot start llama.cpp: {error}")))
}

pub(crate) fn devices() -> Vec<Device> {
    list_llama_ggml_backend_devices().into_iter().map(device).collect()
}

fn device(device: LlamaBackendDevice) -> Device {
    let gpu =
        matches!(device.device_type, LlamaBackendDeviceType::Gpu | LlamaBackendDeviceType::IntegratedGpu);
    Device {
        name: device.name,
        description: device.description,
        gpu,
        memory_total: device.memory_total as u64,
        memory_free: device.memory_free as u64,
    }
}
