//! A tool: a name, a JSON schema and a bounded execution. Plans, models and people call tools the same way.

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

/// Something that can be called with JSON arguments and ends within its limits.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// Returns the name on every wire: `search.grep`.
    fn name(&self) -> &'static str;

    /// Returns one sentence for a model or a person.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether it changes nothing, so that it may run beside others.
    fn is_read_only(&self) -> bool {
        true
    }

    /// Runs the tool. Nothing has checked the arguments: it reads them with [`parse_arguments`]. It blocks; it checks
    /// [`Budget::spent`](crate::budget::Budget::spent) often enough to end within 50 ms of a cancel.
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError>;
}

/// Why a tool could not answer. The words are part of the interface: clients show them as they are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The path leaves the workspace.
    #[error("Path outside workspace: {0}")]
    PathOutsideWorkspace(String),
    /// There is no such file, directory or session.
    #[error("File not found: {0}")]
    FileNotFound(String),
    /// The operating system refuses.
    #[error("Permission denied: {0}")]
    PermissionDenied(String),
    /// The arguments do not fit the schema, or make no sense.
    #[error("Invalid parameters: {0}")]
    InvalidParameters(String),
    /// Anything else.
    #[error("Execution failed: {0}")]
    ExecutionFailed(String),
    /// Somebody cancelled the call.
    #[error("Cancelled")]
    Cancelled,
}

impl ToolError {
    /// Names the operand of an I/O error.
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
