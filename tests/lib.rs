//! End-to-end tests over the real binaries, and what they share.

#[path = "support/gptoss/mod.rs"]
pub mod gptoss;

#[path = "support/server.rs"]
pub mod server;

#[cfg(unix)]
#[path = "support/terminal.rs"]
pub mod terminal;
