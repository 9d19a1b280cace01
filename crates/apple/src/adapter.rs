//! Adapts a tool that was defined for Foundation Models.

use crate::schema::{DynamicSchema, OfferedTool, from_framework};
use openagents_core::model::ToolSpec;
use openagents_tools::tool::{Tool, ToolContext, ToolError, ToolOutput};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::{collections::HashSet, sync::Arc};

pub trait FoundationTool: Send + Sync + std::fmt::Debug {
    /// Returns the name, unique among tools.
    fn name(&self) -> &str;

    /// Returns the description that a model uses to choose it.
    fn description(&self) -> &str;

    fn parameters(&self) -> Parameters;

    /// Runs with valid arguments. Blocks; returns soon after the context is cancelled.
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<Vec<Segment>, ToolError>;
}

#[derive(Debug, Clone, PartialEq)]
pub enum Parameters {
    /// Defined at run time.
    Dynamic(DynamicSchema),
    /// Defined in code with guides: the schema as the framework writes it.
    Guided(Value),
}

/// A part of a framework tool's output.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    Text(String),
    Structured(Value),
}

/// A framework tool behind our tool interface.
#[derive(Debug)]
pub struct AdaptedTool {
    tool: Arc<dyn FoundationTool>,
    name: &'static str,
    description: &'static str,
    offered: OfferedTool,
    schema: Value,
}

impl AdaptedTool {
    /// Captures the tool's current name, description and schema.
    pub fn new(tool: Arc<dyn FoundationTool>) -> Self {
        let schema = match tool.parameters() {
            Parameters::Dynamic(dynamic) => dynamic.to_json(),
            Parameters::Guided(written) => from_framework(&written),
        };
        let spec = ToolSpec {
            name: tool.name().to_owned(),
            description: tool.description().to_owned(),
            parameters: schema.clone(),
        };
        let offered = OfferedTool::new(&spec);
        Self { name: intern(tool.name()), description: intern(tool.description()), offered, schema, tool }
    }
}

impl Tool for AdaptedTool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn description(&self) -> &'static str {
        self.description
    }

    fn schema(&self) -> schemars::Schema {
        schemars::Schema::try_from(self.schema.clone()).unwrap_or_default()
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments = if arguments.is_null() { json!({}) } else { arguments };
        let checked = self.offered.parse_arguments(self.offered.to_model_arguments(&arguments));
        let wrong = |text: String| {
            ToolError::InvalidParameters(text.trim_start_matches("Invalid parameters: ").to_owned())
        };
        let segments = self.tool.call(context, checked.map_err(wrong)?)?;
        Ok(ToolOutput::whole(joined_segments(segments)))
    }
}

/// Joins the parts of an output: a single part is kept, texts are concatenated, a mixture becomes a list.
fn joined_segments(mut segments: Vec<Segment>) -> Value {
    let texts: Option<Vec<_>> = segments
        .iter()
        .map(|segment| match segment {
            Segment::Text(text) => Some(text.as_str()),
            Segment::Structured(_) => None,
        })
        .collect();
    if let Some(texts) = texts {
        return Value::String(texts.concat());
    }
    let value = |segment| match segment {
        Segment::Text(text) => Value::String(text),
        Segment::Structured(value) => value,
    };
    if segments.len() == 1 {
        segments.pop().map_or(Value::Null, value)
    } else {
        segments.into_iter().map(value).collect()
    }
}

/// Leaks each distinct text once: there are few tool names.
fn intern(text: &str) -> &'static str {
    static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut kept = KEPT.lock();
    let kept = kept.get_or_insert_default();
    if let Some(known) = kept.get(text) {
        return known;
    }
    let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
    kept.insert(text);
    text
}

#[cfg(test)]
#[path = "adapter_tests.rs"]
mod tests;
