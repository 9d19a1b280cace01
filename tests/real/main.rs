//! Tests that drive real agents and a real llama-server. They run by name only: `make test-agents`, `make test-peers`.

#[cfg(target_os = "linux")]
mod agents;
#[cfg(target_os = "linux")]
mod codex_claude;
#[cfg(target_os = "linux")]
mod continuing;
#[cfg(target_os = "linux")]
mod hand_over;
#[cfg(target_os = "linux")]
mod live;
mod llama_server;
#[cfg(target_os = "linux")]
mod mcp;
#[cfg(target_os = "linux")]
mod past;
#[cfg(target_os = "linux")]
mod scene;
#[cfg(target_os = "linux")]
mod sweep;
#[cfg(target_os = "linux")]
mod trust;
