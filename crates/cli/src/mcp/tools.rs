//! The tools and their execution.

use super::answer;
use crate::surroundings;
use openagents_core::{CancellationToken, budget::Budget, workspace::Workspace};
use openagents_search::find;
use openagents_tools::{
    builtin::{session_read, session_search},
    tool::{Limits, Tool as _, ToolContext, ToolError, parse_arguments},
};
use openagents_transcripts::history::History;
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A tool that other agents may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum McpTool {
    Find,
    SessionsSearch,
    SessionRead,
}

/// Arguments of `find`.
#[derive(Debug, Deserialize, JsonSchema)]
struct FindArguments {
    /// The question, in plain words or with names out of the code.
    question: String,
}

impl McpTool {
    pub(super) const ALL: [Self; 3] = [Self::Find, Self::SessionsSearch, Self::SessionRead];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Find => "find",
            Self::SessionsSearch => "sessions_search",
            Self::SessionRead => "session_read",
        }
    }

    /// Returns whether it needs past sessions.
    pub(super) fn reads_history(self) -> bool {
        match self {
            Self::Find => false,
            Self::SessionsSearch | Self::SessionRead => true,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Find => "Find code",
            Self::SessionsSearch => "Search past sessions",
            Self::SessionRead => "Read a past session",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Find => {
                "Finds the places in this workspace that answer a question: up to ten spans of code, and of past sessions \
                 where these are offered, best first, each with its lines, excerpt and the reason for it."
            }
            Self::SessionsSearch => {
                "Searches what was said and done in past sessions of coding agents in this workspace."
            }
            Self::SessionRead => {
                "Reads one past session of a coding agent in this workspace: prompts, answers, tool calls and the \
                 files they touched."
            }
        }
    }

    fn schema(self) -> JsonObject {
        let schema = match self {
            Self::Find => schemars::schema_for!(FindArguments),
            Self::SessionsSearch => session_search().schema(),
            Self::SessionRead => session_read().schema(),
        };
        match schema.to_value() {
            Value::Object(mut members) => {
                // The name and the description come from the Rust type.
                members.retain(|key, _| key != "title" && key != "description");
                members
            }
            _ => JsonObject::new(),
        }
    }

    /// Returns the entry of `tools/list`.
    pub(super) fn describe(self) -> Tool {
        let hints =
            ToolAnnotations::new().read_only(true).destructive(false).idempotent(true).open_world(false);
        Tool::new(self.name(), self.description(), self.schema())
            .with_title(self.title())
            .with_annotations(hints)
    }

    /// Runs the tool. Blocks; ends within its limits, or soon after a cancel.
    pub(super) fn call(
        self,
        workspace: &Workspace,
        history: bool,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, ToolError> {
        // Opened per call: this process may run for days, and the app must be able to move the data folder.
        let history = history.then(|| surroundings::history().of_workspace(workspace.root()));
        match self {
            Self::Find => find(workspace, history.as_ref(), arguments, cancel),
            Self::SessionsSearch | Self::SessionRead => {
                let history = history.unwrap_or_else(History::empty);
                self.call_builtin(workspace, &history, arguments, cancel)
            }
        }
    }

    fn call_builtin(
        self,
        workspace: &Workspace,
        history: &History,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, ToolError> {
        let context = ToolContext { workspace, history, limits: &Limits::default(), cancel, progress: &() };
        let output = match self {
            Self::SessionRead => session_read().call(&context, arguments),
            _ => session_search().call(&context, arguments),
        }?;
        Ok(CallToolResult::structured(output.to_json()))
    }
}

fn find(
    workspace: &Workspace,
    history: Option<&History>,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<CallToolResult, ToolError> {
    let FindArguments { question } = parse_arguments(arguments)?;
    let question = question.trim();
    if question.is_empty() {
        return Err(ToolError::InvalidParameters("question is empty".to_owned()));
    }
    let budget = Budget::within(find::TIME, cancel);
    let findings = find::find(&find::Sources { workspace, history }, question, &budget);
    budget.check_cancelled()?;
    answer::findings(&findings, question)
}
