//! The trait of tools, and the tools by name.

use super::{context::ToolContext, error::ToolError, output::ToolOutput};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// A tool: takes JSON arguments and ends within its limits.
pub trait Tool: Send + Sync + std::fmt::Debug {
    /// Returns the name on the wire: `search.grep`.
    fn name(&self) -> &'static str;

    /// Returns a one-sentence description.
    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether it only reads, so that calls may run concurrently.
    fn is_read_only(&self) -> bool {
        true
    }

    /// Returns whether it reads past sessions and nothing else.
    fn reads_history(&self) -> bool {
        self.name().starts_with("session.")
    }

    /// Runs the tool with arguments that are not validated yet. Blocks; returns within 50 ms of a cancel.
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError>;
}

/// Maximum length of a shown tool name in bytes.
const NAME: usize = 100;

/// Returns the shown part of a name: models may invent names of any length.
pub fn shown_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME)]
}

/// Maps names to tools.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
}

impl Registry {
    /// Adds a tool; replaces one of the same name.
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.insert(tool.name(), tool);
        self
    }

    /// Returns the registry without the tools for which `is_dropped` is true.
    pub fn without(mut self, is_dropped: impl Fn(&dyn Tool) -> bool) -> Self {
        self.tools.retain(|_, tool| !is_dropped(tool.as_ref()));
        self
    }

    /// Returns a tool by name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Returns the tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        self.tools.values()
    }

    /// Runs a tool by name.
    pub fn call(
        &self,
        name: &str,
        context: &ToolContext<'_>,
        arguments: Value,
    ) -> Result<ToolOutput, ToolError> {
        let tool = self.get(name).ok_or_else(|| {
            let names = self.tools.keys().copied().collect::<Vec<_>>().join(", ");
            ToolError::InvalidParameters(format!("no tool named {}; there are {names}", shown_name(name)))
        })?;
        tool.call(context, arguments)
    }
}
