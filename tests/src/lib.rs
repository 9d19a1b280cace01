//! End-to-end tests over the real binaries, and their shared helpers.

pub mod agent_turn;
pub mod chaos;
pub mod gptoss;
pub mod hostile;
pub mod http;
pub mod llama_server;
pub mod openai;
#[cfg(target_os = "linux")]
pub mod peers;
pub mod pseudo_terminal;
pub mod server;
pub mod table;
pub mod terminal;
