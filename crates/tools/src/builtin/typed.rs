//! A tool with typed arguments.

use crate::tool::{Tool, ToolContext, ToolError, ToolOutput, parse_arguments};
use schemars::{JsonSchema, Schema, schema_for};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

/// A tool whose schema is that of its arguments `A`.
#[derive(Debug)]
pub(super) struct TypedTool<A> {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) run: fn(&ToolContext<'_>, A) -> Result<ToolOutput, ToolError>,
}

impl<A: DeserializeOwned + JsonSchema + Debug> Tool for TypedTool<A> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn schema(&self) -> Schema {
        schema_for!(A)
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
        (self.run)(context, parse_arguments(arguments)?)
    }
}
