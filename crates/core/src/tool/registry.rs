//! The tools by name.

use super::{Tool, ToolContext, ToolError, ToolOutput};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// Bytes of a tool's name that is shown.
const NAME: usize = 100;

/// Returns as much of a name as people are shown: a model may make one up, of any length.
pub(crate) fn shown_name(name: &str) -> &str {
    &name[..name.floor_char_boundary(NAME)]
}

/// The one place where a name becomes a tool.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    tools: BTreeMap<&'static str, Arc<dyn Tool>>,
}

impl Registry {
    /// Adds a tool; one of the same name is replaced.
    pub fn with(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.insert(tool.name(), tool);
        self
    }

    /// Finds a tool.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.get(name)
    }

    /// Lists the tools by name.
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
