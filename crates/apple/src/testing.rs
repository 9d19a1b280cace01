//! The tools of this product as a model is offered them.

use openagents_core::{
    CancellationToken,
    agent::{Generate, SessionTool},
    model::{
        Availability, Capabilities, LanguageModel, ModelError, ModelEvent, ModelOptions, ModelRequest,
        StopReason, ToolSpec,
    },
    tool::Registry,
};
use serde_json::Value;
use std::sync::Arc;

/// A model that nobody asks.
#[derive(Debug)]
struct Unasked;

impl LanguageModel for Unasked {
    fn id(&self) -> &str {
        "unasked"
    }
    fn name(&self) -> String {
        "Unasked".to_owned()
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { tools: true, local: true, loaded: true }
    }
    fn availability(&self) -> Availability {
        Availability::Ready
    }
    fn respond(
        &self,
        _: &ModelRequest,
        _: &CancellationToken,
        _: &mut dyn FnMut(ModelEvent),
    ) -> Result<StopReason, ModelError> {
        Err(ModelError::Malformed)
    }
}

pub(crate) fn spec(name: &str, parameters: Value) -> ToolSpec {
    ToolSpec { name: name.to_owned(), description: "Does something. And more.".to_owned(), parameters }
}

fn spec_of(name: &str, description: &str, schema: schemars::Schema) -> ToolSpec {
    let mut parameters = schema.to_value();
    for key in ["$schema", "title", "description"] {
        parameters.as_object_mut().unwrap().remove(key);
    }
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

/// All of ours: the exploration, and what hands work to others.
pub(crate) fn ours() -> Vec<ToolSpec> {
    let own: [Arc<dyn SessionTool>; 1] =
        [Arc::new(Generate { model: Arc::new(Unasked), options: ModelOptions::default() })];
    let registry = Registry::exploration();
    let plain = registry.iter().map(|tool| spec_of(tool.name(), tool.description(), tool.schema()));
    plain.chain(own.iter().map(|tool| spec_of(tool.name(), tool.description(), tool.schema()))).collect()
}
