//! A tool: a name, a JSON schema and a bounded execution. Plans, models and people use the same interface.

mod arguments;
mod context;
mod limits;
mod output;
mod registry;
mod toolbox;

pub use arguments::parse_arguments;
pub use context::ToolContext;
pub use limits::Limits;
pub use output::{ToolOutput, ToolResult};
pub use registry::Registry;
pub(crate) use registry::shown_name;
pub use toolbox::Toolbox;

use crate::{budget::Cancelled, workspace::PathError};
use serde_json::Value;

/// Can be called with JSON arguments and ends within its limits.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// Returns the name on the wire: `search.grep`.
    fn name(&self) -> &'static str;

    /// Returns a one-sentence description.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether it changes nothing, so that it may run concurrently.
    fn is_read_only(&self) -> bool {
        true
    }

    /// Runs the tool. Arguments are not validated; use [`parse_arguments`]. Blocks; must check
    /// [`Budget::spent`](crate::budget::Budget::spent) often enough to return within 50 ms of a cancel.
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError>;
}

/// Why a tool failed. The texts are part of the interface: clients show them unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The path leaves the workspace.
    #[error("Path outside workspace: {0}")]
    PathOutsideWorkspace(String),
    /// The file, directory or session does not exist.
    #[error("File not found: {0}")]
    FileNotFound(String),
    /// The operating system denies access.
    #[error("Permission denied: {0}")]
    PermissionDenied(String),
    /// The arguments do not match the schema or are inconsistent.
    #[error("Invalid parameters: {0}")]
    InvalidParameters(String),
    /// Any other error.
    #[error("Execution failed: {0}")]
    ExecutionFailed(String),
    /// The call was cancelled.
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
