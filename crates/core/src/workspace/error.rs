//! Why a path of a workspace cannot be used.

use std::io;

/// Why a path cannot be used. The words are part of the interface: clients show them as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path leaves the workspace.
    #[error("Path outside workspace: {0}")]
    Outside(String),
    /// There is no such file or directory.
    #[error("File not found: {0}")]
    NotFound(String),
    /// The operating system refuses.
    #[error("Permission denied: {0}")]
    Denied(String),
    /// Something else is there than was asked for: `src is a directory`.
    #[error("Invalid parameters: {0}")]
    WrongKind(String),
    /// Any other error of the operating system.
    #[error("Execution failed: {0}")]
    Io(String),
}

impl PathError {
    /// Names the path of an I/O error.
    pub fn io(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path.to_owned()),
            io::ErrorKind::PermissionDenied => Self::Denied(path.to_owned()),
            _ => Self::Io(format!("{path}: {error}")),
        }
    }

    /// Names the path of an error that came from beneath the workspace handle: it may lead out.
    pub(super) fn beneath(path: &str, error: &io::Error) -> Self {
        if escapes(error) { Self::Outside(path.to_owned()) } else { Self::io(path, error) }
    }
}

/// cap-std reports a path that leads out as `PermissionDenied` without an operating-system code.
pub(super) fn escapes(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}
