//! The errors of a tool.

use openagents_core::{budget::Cancelled, workspace::PathError};

/// The error of a failed tool call. The texts are part of the interface: clients show them unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say it")]
pub enum ToolError {
    #[error("Path outside workspace: {0}")]
    PathOutsideWorkspace(String),
    /// A file, directory or session.
    #[error("File not found: {0}")]
    FileNotFound(String),
    #[error("Permission denied: {0}")]
    PermissionDenied(String),
    /// The arguments do not match the schema or are inconsistent.
    #[error("Invalid parameters: {0}")]
    InvalidParameters(String),
    #[error("Execution failed: {0}")]
    ExecutionFailed(String),
    #[error("Cancelled")]
    Cancelled,
}

impl ToolError {
    /// Converts an I/O error; `operand` is named in the text.
    pub fn io(operand: &str, error: &std::io::Error) -> Self {
        PathError::io(operand, error).into()
    }
}

impl From<PathError> for ToolError {
    fn from(error: PathError) -> Self {
        match error {
            PathError::Outside(path) => Self::PathOutsideWorkspace(path),
            PathError::NotFound(path) => Self::FileNotFound(path),
            PathError::Denied(path) => Self::PermissionDenied(path),
            PathError::WrongKind(reason) => Self::InvalidParameters(reason),
            PathError::Io(reason) => Self::ExecutionFailed(reason),
        }
    }
}

impl From<Cancelled> for ToolError {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}
