//! A tool: a name, a JSON schema and a bounded execution. Plans, models and users share one interface.

mod arguments;
mod context;
mod output;
mod registry;

pub use crate::tool::{context::Limits, output::ToolError, registry::Toolbox};
pub use arguments::parse_arguments;
pub use context::{ToolContext, unchanged};
pub use output::{ToolOutput, ToolResult};
pub use registry::{Registry, Tool, shown_name};
