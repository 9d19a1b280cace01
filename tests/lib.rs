//! End-to-end tests over the real binaries, and their shared helpers.

#[cfg(unix)]
#[path = "support/agent_turn.rs"]
pub mod agent_turn;
#[path = "support/chaos/mod.rs"]
pub mod chaos;

#[path = "support/gptoss/mod.rs"]
pub mod gptoss;

#[cfg(unix)]
#[path = "support/hostile.rs"]
pub mod hostile;

#[path = "support/http.rs"]
pub mod http;

#[cfg(unix)]
#[path = "support/llama_server.rs"]
pub mod llama_server;

#[path = "support/openai/mod.rs"]
pub mod openai;

#[cfg(target_os = "linux")]
#[path = "support/peers.rs"]
pub mod peers;

#[cfg(unix)]
#[path = "support/pseudo_terminal.rs"]
pub mod pseudo_terminal;

#[path = "support/server.rs"]
pub mod server;

#[path = "support/table.rs"]
pub mod table;

#[cfg(unix)]
#[path = "support/terminal.rs"]
pub mod terminal;
