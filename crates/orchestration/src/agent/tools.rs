//! Tools for a model: their specs, and their results as text.

use super::{agent_loop::AgentLoop, session_tool::SessionTool};
use openagents_core::{
    model::ToolSpec,
    text::{cut_with_note, plain},
};
use openagents_tools::tool::{Registry, ToolError, ToolOutput};
use std::sync::Arc;

/// Returns the session tools that the model may call.
pub(super) fn offered(agent: &AgentLoop) -> Vec<Arc<dyn SessionTool>> {
    let model = agent.model.as_ref();
    agent.session_tools.iter().filter(|tool| tool.is_offered_to(model)).cloned().collect()
}

/// Returns the specs, sorted by name.
pub(super) fn specs(registry: &Registry, session_tools: &[Arc<dyn SessionTool>]) -> Vec<ToolSpec> {
    let plain = registry.iter().map(|tool| spec(tool.name(), tool.description(), tool.schema()));
    let own = session_tools.iter().map(|tool| spec(tool.name(), tool.description(), tool.schema()));
    plain.chain(own).collect()
}

fn spec(name: &str, description: &str, schema: schemars::Schema) -> ToolSpec {
    let mut parameters = schema.to_value();
    if let Some(members) = parameters.as_object_mut() {
        // These schema keywords only cost tokens.
        members.remove("$schema");
        members.remove("title");
        members.remove("description");
    }
    ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters }
}

/// Returns the result for the model, at most `room` characters plus notes.
pub(super) fn result_text(result: &Result<ToolOutput, ToolError>, room: usize) -> String {
    let output = match result {
        Ok(output) => output,
        Err(error) => return cut_with_note(&error.to_string(), room),
    };
    let mut text = cut_with_note(&plain(&output.to_json()), room);
    if output.cut.timed_out {
        text.push_str("\n(The time limit was reached before everything was searched.)");
    } else if output.cut.truncated {
        text.push_str("\n(Truncated; narrow the request to see the rest.)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use openagents_core::update::Cut;
    use openagents_tools::builtin;
    use serde_json::{Value, json};

    #[test]
    fn a_result_is_cut_and_says_so() {
        let truncated = Cut { truncated: true, ..Cut::default() };
        let timed_out = Cut { timed_out: true, ..Cut::default() };
        let ok = |value: Value, cut| Ok(ToolOutput::new(value, cut));
        let rows = [
            (ok(json!("plain"), Cut::default()), "plain"),
            (ok(json!(["a"]), Cut::default()), "[\"a\"]"),
            (ok(json!("ääääääääääää"), Cut::default()), "ääääääääää\n(Cut: the first 10 of 12 characters.)"),
            (ok(json!("a"), truncated), "a\n(Truncated; narrow the request to see the rest.)"),
            (ok(json!("a"), timed_out), "a\n(The time limit was reached before everything was searched.)"),
            (Err(ToolError::FileNotFound("a".into())), "File not f\n(Cut: the first 10 of 17 characters.)"),
        ];
        for (result, expected) in rows {
            assert_eq!(result_text(&result, 10), expected);
        }
    }

    #[test]
    fn every_tool_of_an_exploration_is_offered_with_its_parameters() {
        let specs = specs(&builtin::registry(), &[]);
        assert_eq!(specs.len(), 7);
        let grep = specs.iter().find(|spec| spec.name == "search.grep").unwrap();
        assert_eq!(grep.parameters["required"], json!(["pattern"]));
        assert!(grep.parameters.get("$schema").is_none());
    }
}
