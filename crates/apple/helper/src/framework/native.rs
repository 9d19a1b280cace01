//! Adapts a tool that was written for the framework.

use super::schema;
use foundation_models::{FMError, GeneratedContent, Segment as Theirs, ToolOutput, ToolSpec};
use openagents_apple::adapter::{FoundationTool, Parameters, Segment};
use openagents_tools::tool::{ToolContext, ToolError};
use serde_json::Value;
use std::fmt;

/// The implementation of a framework tool. Takes the generated arguments and the tool context.
pub type Handler =
    Box<dyn Fn(&ToolContext<'_>, GeneratedContent) -> Result<ToolOutput, FMError> + Send + Sync>;

/// A framework tool: its specification and its implementation.
pub struct Native {
    /// Name, description and parameters, from a `@Generable` type or dynamic.
    pub spec: ToolSpec,
    /// Runs the tool.
    pub handler: Handler,
}

impl fmt::Debug for Native {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Native").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl FoundationTool for Native {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn description(&self) -> &str {
        &self.spec.description
    }

    fn parameters(&self) -> Parameters {
        schema::from_framework(&self.spec.parameters)
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<Vec<Segment>, ToolError> {
        let failed = |error: FMError| match error {
            FMError::Cancelled => ToolError::Cancelled,
            FMError::InvalidArgument(message) | FMError::DecodingFailure(message) => {
                ToolError::InvalidParameters(message.to_string())
            }
            other => ToolError::ExecutionFailed(other.message().to_owned()),
        };
        let arguments = GeneratedContent::from_value(arguments).map_err(failed)?;
        let output = (self.handler)(context, arguments).map_err(failed)?;
        let segments = output.prompt().segments().iter().map(|segment| match segment {
            Theirs::Text(text) => Segment::Text(text.text.clone()),
            Theirs::Structure(structure) => Segment::Structured(structure.content.raw_value().clone()),
        });
        Ok(segments.collect())
    }
}
