//! The result of a tool: typed inside this process, JSON elsewhere.

use openagents_core::{budget::Cancelled, update::Cut, workspace::PathError};
use serde::Serialize;
use serde_json::Value;
use std::{any::Any, fmt::Debug, sync::Arc};

/// A result type of a tool; models, clients and the log receive its serde form.
pub trait ToolResult: Any + Debug + Send + Sync {
    /// Returns the serde form.
    fn to_json(&self) -> Value;
}

impl<T: Serialize + Any + Debug + Send + Sync> ToolResult for T {
    fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[derive(Debug, Clone)]
pub struct ToolOutput {
    result: Arc<dyn ToolResult>,
    pub cut: Cut,
}

impl ToolOutput {
    /// Wraps a result that may be cut.
    pub fn new(result: impl ToolResult, cut: Cut) -> Self {
        Self { result: Arc::new(result), cut }
    }

    /// Wraps a complete result.
    pub fn whole(result: impl ToolResult) -> Self {
        Self::new(result, Cut::default())
    }

    /// Returns the result if it has type `T`.
    pub fn result<T: ToolResult>(&self) -> Option<&T> {
        let result: &dyn Any = self.result.as_ref();
        result.downcast_ref()
    }

    pub fn to_json(&self) -> Value {
        self.result.to_json()
    }
}

/// The error of a failed tool call. The texts are part of the interface: clients show them unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
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
