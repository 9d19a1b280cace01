//! Errors for paths in a workspace.

use std::io;

/// Why a path is unusable. The texts are part of the interface: clients show them unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path leaves the workspace.
    #[error("Path outside workspace: {0}")]
    Outside(String),
    /// The file or directory does not exist.
    #[error("File not found: {0}")]
    NotFound(String),
    /// The operating system denies access.
    #[error("Permission denied: {0}")]
    Denied(String),
    /// Not of the requested kind: `src is a directory`.
    #[error("Invalid parameters: {0}")]
    WrongKind(String),
    /// Any other I/O error.
    #[error("Execution failed: {0}")]
    Io(String),
}

impl PathError {
    /// Converts an I/O error with its path.
    pub fn io(path: &str, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NotFound(path.to_owned()),
            io::ErrorKind::PermissionDenied => Self::Denied(path.to_owned()),
            _ => Self::Io(format!("{path}: {error}")),
        }
    }

    /// Converts an I/O error from below the workspace handle, where the path may lead out.
    pub(super) fn beneath(path: &str, error: &io::Error) -> Self {
        if escapes(error) { Self::Outside(path.to_owned()) } else { Self::io(path, error) }
    }
}

/// cap-std reports a path that leads out as `PermissionDenied` without an operating-system code.
pub(super) fn escapes(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied && error.raw_os_error().is_none()
}
