//! End-to-end tests over the real binaries, and what they share.

#[cfg(unix)]
#[path = "support/terminal.rs"]
pub mod terminal;
