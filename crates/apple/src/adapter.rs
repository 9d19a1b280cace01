//! A tool that was defined for Foundation Models, as one of ours.

use crate::schema::{DynamicSchema, OfferedTool, from_framework};
use openagents_core::{
    model::ToolSpec,
    tool::{Tool, ToolContext, ToolError, ToolOutput},
};
use serde_json::{Value, json};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// A tool as the framework knows them.
pub trait FoundationTool: Send + Sync + std::fmt::Debug {
    /// Returns the name, unique among tools.
    fn name(&self) -> &str;

    /// Returns what a model needs to know to choose it.
    fn description(&self) -> &str;

    /// Returns what its arguments are.
    fn parameters(&self) -> Parameters;

    /// Runs with arguments that fit. It blocks; it ends soon after a cancel of the context.
    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<Vec<Segment>, ToolError>;
}

/// How a tool of the framework defines its arguments.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameters {
    /// At run time.
    Dynamic(DynamicSchema),
    /// In code, with guides: the schema as the framework writes it down.
    Guided(Value),
}

/// A part of what a tool of the framework gives back.
#[derive(Debug, Clone, PartialEq)]
pub enum Segment {
    /// Plain text.
    Text(String),
    /// A value with a structure.
    Structured(Value),
}

/// The tool of the framework behind the interface of ours.
#[derive(Debug)]
pub struct AdaptedTool {
    tool: Arc<dyn FoundationTool>,
    name: &'static str,
    description: &'static str,
    offered: OfferedTool,
    schema: Value,
}

impl AdaptedTool {
    /// Takes the name, the description and the schema of the tool as they are now.
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
        Self { name: kept(tool.name()), description: kept(tool.description()), offered, schema, tool }
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
        let checked = self.offered.read(self.offered.said(&arguments));
        let wrong = |text: String| {
            ToolError::InvalidParameters(text.trim_start_matches("Invalid parameters: ").to_owned())
        };
        let segments = self.tool.call(context, checked.map_err(wrong)?)?;
        Ok(ToolOutput::whole(unwrapped(segments)))
    }
}

/// One value for what was said in parts: a single one is itself, texts are joined, a mixture is a list.
fn unwrapped(mut segments: Vec<Segment>) -> Value {
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

/// Keeps a text for as long as the process lives, once however often it comes: the names of tools are few.
fn kept(text: &str) -> &'static str {
    static KEPT: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
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
