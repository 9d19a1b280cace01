//! A directory, canonicalised once, that contains everything a tool may access.
//!
//! Names are only hints: every file is opened below the directory handle, so replacing a path with a symlink after a
//! check has no effect, and a FIFO or a device cannot block a tool.

mod directory;
mod encoding;
mod error;
mod open;
mod resolve;
mod write;

pub use directory::{Workspace, WorkspaceError};
pub use encoding::{BINARY_PROBE, MarkedEncoding};
pub use encoding::{decoded, decoding, is_binary};
pub use error::PathError;
pub use open::BeneathFile;

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
