//! A tool: a name, a JSON schema and a bounded execution. Plans, models and users share one interface.

mod arguments;
mod context;
mod error;
mod limits;
mod output;
mod registry;
mod toolbox;

pub use arguments::parse_arguments;
pub use context::ToolContext;
pub use error::ToolError;
pub use limits::Limits;
pub use output::{ToolOutput, ToolResult};
pub use registry::shown_name;
pub use registry::{Registry, Tool};
pub use toolbox::Toolbox;
