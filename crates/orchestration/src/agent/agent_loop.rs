//! The parts of the agent loop and of one turn.

use super::limits::{CONVERSATION_CHARS, TOKEN_CHARS};
use openagents_core::{
    CancellationToken,
    agent::{AgentEvent, Conversation},
    model::{LanguageModel, ModelOptions, ToolSpec},
    text::{cut_with_note, plain},
    update::Findings,
    workspace::Workspace,
};
use openagents_tools::tool::{Registry, ToolError, ToolOutput, Toolbox};
use serde_json::Value;
use std::{path::PathBuf, sync::Arc};

/// A model with tools that answers prompts.
#[derive(Debug, Clone)]
pub struct AgentLoop {
    pub model: Arc<dyn LanguageModel>,
    /// Options of every request.
    pub options: ModelOptions,
    pub tools: Toolbox,
    pub session_tools: Vec<Arc<dyn SessionTool>>,
}

/// One turn.
#[derive(Debug, Clone)]
pub struct PromptRequest {
    /// The workspace; need not exist.
    pub root: PathBuf,
    pub text: String,
    /// The part of the text that the user typed, if not all of it; attached text is not an instruction.
    pub words: Option<String>,
    /// History of the session.
    pub transcript: Conversation,
    /// Findings for the question, already shown to the user. The model reads them, and its citations are checked.
    pub findings: Option<Findings>,
    /// Another agent wrote the text and chose the root, so the text is not the user's and the root must be canonical.
    pub delegated: bool,
}

impl AgentLoop {
    /// Returns the maximum length of a conversation with this model, in characters.
    pub(super) fn conversation_chars(&self) -> usize {
        self.model.context_tokens().map_or(CONVERSATION_CHARS, |tokens| tokens as usize * TOKEN_CHARS)
    }
}

/// A tool that opens its own row in the session and emits updates while it runs.
pub trait SessionTool: Send + Sync + std::fmt::Debug {
    /// Returns the name on the wire: `gptoss.generate`.
    fn name(&self) -> &'static str;

    fn description(&self) -> &'static str;

    /// Returns the JSON schema of the arguments.
    fn schema(&self) -> schemars::Schema;

    /// Returns whether `model` may call it.
    fn is_offered_to(&self, model: &dyn LanguageModel) -> bool;

    /// Opens its row, runs, and closes the row on every return. Returns the result for the caller.
    ///
    /// Blocks; returns within 100 ms of a cancel.
    fn call(&self, context: &SessionContext<'_>, arguments: Value) -> Result<String, ToolError>;
}

#[derive(Clone, Copy)]
pub struct SessionContext<'a> {
    pub workspace: &'a Workspace,
    /// Id of its row; globally unique.
    pub call_id: &'a str,
    /// The user's prompt of this turn, as typed; empty if another agent wrote it.
    pub prompt: &'a str,
    /// Id of the calling model; `None` if the user calls.
    pub caller: Option<&'a str>,
    /// The past sessions that the caller has read and may repeat in the arguments.
    pub read: HistoryRead,
    /// Cancelled when the result is no longer needed.
    pub cancel: &'a CancellationToken,
    /// Adds an event to the session.
    pub emit: &'a (dyn Fn(AgentEvent) + Sync),
}

/// The past sessions that a conversation has read and may repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HistoryRead {
    #[default]
    Nothing,
    Workspace,
    /// Those of other workspaces too.
    Everywhere,
}

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
    fn long_result_is_cut_and_marked() {
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
    fn each_tool_is_offered_with_its_parameters() {
        let specs = specs(&builtin::registry(), &[]);
        assert_eq!(specs.len(), 7);
        let grep = specs.iter().find(|spec| spec.name == "search.grep").unwrap();
        assert_eq!(grep.parameters["required"], json!(["pattern"]));
        assert!(grep.parameters.get("$schema").is_none());
    }
}
