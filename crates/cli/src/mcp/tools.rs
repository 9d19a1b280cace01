//! The tools and their execution.

use crate::surroundings;
use openagents_core::{
    CancellationToken, budget::Budget, text::prefix, update::Findings, workspace::Workspace,
};
use openagents_search::find;
use openagents_share::secrets::{hidden, hide_in_json};
use openagents_tools::{
    builtin::{session_read, session_search},
    tool::{Limits, Tool as _, ToolContext, ToolError, parse_arguments},
};
use openagents_transcripts::history::History;
use openagents_wire::{UsageBy, UsageQuery};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// A tool that other agents may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum McpTool {
    Overview,
    Find,
    SessionsSearch,
    SessionRead,
    Usage,
}

/// Arguments of `usage`.
#[derive(Debug, Deserialize, JsonSchema)]
struct UsageArguments {
    /// The rows: `day`, `session`, `agent` or `model`.
    #[serde(default)]
    by: Option<String>,
    /// The first day: `2026-06-01`, `today`, or `7d` for the last seven days.
    #[serde(default)]
    since: Option<String>,
    /// The last day, like `since`.
    #[serde(default)]
    until: Option<String>,
}

/// Arguments of `find`.
#[derive(Debug, Deserialize, JsonSchema)]
struct FindArguments {
    /// The question, in plain words or with names out of the code.
    question: String,
}

/// Arguments of `overview`: none.
#[derive(Debug, Deserialize, JsonSchema)]
struct OverviewArguments {}

impl McpTool {
    pub(super) const ALL: [Self; 5] =
        [Self::Overview, Self::Find, Self::SessionsSearch, Self::SessionRead, Self::Usage];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            Self::Find => "find",
            Self::SessionsSearch => "sessions_search",
            Self::SessionRead => "session_read",
            Self::Usage => "usage",
        }
    }

    /// Returns whether it needs past sessions.
    pub(super) fn reads_history(self) -> bool {
        match self {
            Self::Overview | Self::Find => false,
            Self::SessionsSearch | Self::SessionRead | Self::Usage => true,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Find => "Find code",
            Self::SessionsSearch => "Search past sessions",
            Self::SessionRead => "Read a past session",
            Self::Usage => "Tokens and costs",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Overview => {
                "Describes this workspace as a whole, each statement with the lines that show it: what it is, how it is \
                 built, run and tested, where it starts, its folders and the imports between them, and its last commits."
            }
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
            Self::Usage => {
                "Sums the tokens and costs of the requests that coding agents made in this workspace, by day, session, \
                 agent or model."
            }
        }
    }

    fn schema(self) -> JsonObject {
        let schema = match self {
            Self::Overview => schemars::schema_for!(OverviewArguments),
            Self::Find => schemars::schema_for!(FindArguments),
            Self::SessionsSearch => session_search().schema(),
            Self::SessionRead => session_read().schema(),
            Self::Usage => schemars::schema_for!(UsageArguments),
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
            Self::Overview => overview(workspace, history.as_ref(), arguments, cancel),
            Self::Find => find(workspace, history.as_ref(), arguments, cancel),
            Self::SessionsSearch | Self::SessionRead => {
                let history = history.unwrap_or_else(History::empty);
                self.call_builtin(workspace, &history, arguments, cancel)
            }
            Self::Usage => usage(workspace, &history.unwrap_or_else(History::empty), arguments, cancel),
        }
    }

    fn call_builtin(
        self,
        workspace: &Workspace,
        history: &History,
        arguments: Value,
        cancel: &CancellationToken,
    ) -> Result<CallToolResult, ToolError> {
        let limits = &Limits::default();
        let context = ToolContext { workspace, history, limits, cancel, progress: &(), rewrite: hidden };
        let output = match self {
            Self::SessionRead => session_read().call(&context, arguments),
            _ => session_search().call(&context, arguments),
        }?;
        let mut output = output.to_json();
        drop_cut_words(&mut output);
        hide_in_json(&mut output);
        Ok(CallToolResult::structured(output))
    }
}

/// Drops the words at which texts were cut: they may be parts of secrets.
fn drop_cut_words(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(cut) = text.strip_suffix('…') {
                *text = format!("{}…", cut.rsplit_once(char::is_whitespace).map_or("", |(whole, _)| whole));
            }
            if let Some(cut) = text.strip_prefix('…') {
                *text = format!("…{}", cut.split_once(char::is_whitespace).map_or("", |(_, whole)| whole));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(drop_cut_words),
        Value::Object(members) => members.values_mut().for_each(drop_cut_words),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn overview(
    workspace: &Workspace,
    history: Option<&History>,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<CallToolResult, ToolError> {
    let OverviewArguments {} = parse_arguments(arguments)?;
    let budget = budget_of(cancel);
    let overview = openagents_search::overview(workspace, history, &budget);
    budget.check_cancelled()?;
    let text = match overview.blocks.is_empty() {
        true => "There is nothing to describe: the folder has no readable files.".to_owned(),
        false => overview.markdown(),
    };
    structured(text, &overview)
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
    let budget = budget_of(cancel);
    let found = find::find(&find::Sources { workspace, history }, question, &budget);
    budget.check_cancelled()?;
    findings(&found, question)
}

/// Longest name quoted in an error, in bytes. Models may invent names of any length.
const NAME: usize = 100;

/// Returns the server instructions for the client's model; some clients show nothing else until tools are requested.
pub(super) fn instructions(workspace: &str, history: bool) -> String {
    let question = "that answer a question (`find`)";
    if history {
        format!(
            "Describes {workspace} as a whole (`overview`); finds the places in its code and past agent sessions {question}; \
             searches and reads these sessions (`sessions_search`, `session_read`), and sums their tokens and costs (`usage`). Read-only."
        )
    } else {
        format!(
            "Describes {workspace} as a whole (`overview`), and finds the places in its code {question}. Read-only."
        )
    }
}

/// Returns findings as data, and as the text that all our clients show.
pub(super) fn findings(findings: &Findings, question: &str) -> Result<CallToolResult, ToolError> {
    structured(findings.message(question), findings)
}

/// Returns the tokens and costs of this workspace.
fn usage(
    workspace: &Workspace,
    history: &History,
    arguments: Value,
    cancel: &CancellationToken,
) -> Result<CallToolResult, ToolError> {
    let UsageArguments { by, since, until } = parse_arguments(arguments)?;
    let by = match by.as_deref().unwrap_or("day") {
        "day" => UsageBy::Day,
        "session" => UsageBy::Session,
        "agent" => UsageBy::Agent,
        "model" => UsageBy::Model,
        other => {
            let message = format!("by is {}; it is day, session, agent or model", shown(other));
            return Err(ToolError::InvalidParameters(message));
        }
    };
    let workspace = Some(workspace.root().to_owned());
    let query = UsageQuery { by, since, until, workspace, ..UsageQuery::default() };
    let failed = |error: anyhow::Error| ToolError::ExecutionFailed(format!("{error:#}"));
    let report = crate::usage::report(history, &query, cancel).map_err(failed)?;
    budget_of(cancel).check_cancelled()?;
    structured(crate::usage::lines(&report, by).join("\n"), &report)
}

fn budget_of(cancel: &CancellationToken) -> Budget {
    Budget::within(find::TIME, cancel)
}

/// Returns a result as text and as data, without secrets.
fn structured(text: String, data: &impl serde::Serialize) -> Result<CallToolResult, ToolError> {
    let failed = |error: serde_json::Error| ToolError::ExecutionFailed(error.to_string());
    let mut both = Value::Array(vec![text.into(), serde_json::to_value(data).map_err(failed)?]);
    // Together: a secret that is recognized in one is hidden in the other.
    hide_in_json(&mut both);
    let Value::Array(both) = both else { return Ok(CallToolResult::success(vec![])) };
    let mut both = both.into_iter();
    let text = both.next().as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = both.next();
    Ok(result)
}

/// Returns the error for a tool that is not offered.
pub(super) fn no_such_tool(name: &str, offered: &[&str]) -> String {
    format!("no such tool: {} (there are: {})", shown(name), offered.join(", "))
}

/// Returns the error for unreadable parameters of a `tools/call`.
pub(super) fn malformed_call(params: Option<&Value>) -> String {
    let params = params.unwrap_or(&Value::Null);
    if !params["name"].is_string() {
        return "name is missing or not a string".to_owned();
    }
    match params.get("arguments") {
        Some(arguments) if !arguments.is_object() => "arguments is not a JSON object".to_owned(),
        _ => "invalid parameters".to_owned(),
    }
}

/// Returns the part of a name to quote in an error.
pub(super) fn shown(name: &str) -> &str {
    prefix(name, NAME)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn malformed_call_names_its_fault() {
        let rows = [
            (None, "name is missing or not a string"),
            (Some(json!([])), "name is missing or not a string"),
            (Some(json!({"name": 1})), "name is missing or not a string"),
            (Some(json!({"name": "find", "arguments": [1]})), "arguments is not a JSON object"),
            (Some(json!({"name": "find", "_meta": 1})), "invalid parameters"),
        ];
        for (params, expected) in rows {
            assert_eq!(malformed_call(params.as_ref()), expected, "{params:?}");
        }
    }

    #[test]
    fn results_have_no_secrets() {
        let token = "ghp_9aJ2kLmN0pQrStUvWxYz1234567890AbCdEf";
        let result = structured(format!("use {token}"), &json!({"a": [token]})).unwrap();
        let text = serde_json::to_string(&result).unwrap();
        assert!(!text.contains(token) && text.matches("[hidden: github-pat]").count() == 2, "{text}");
    }

    #[test]
    fn words_at_a_cut_are_dropped() {
        let mut value = json!([{"line": "…ghp_abc is the token and ghp_de…"}, "whole text", "…cut…"]);
        drop_cut_words(&mut value);
        assert_eq!(value, json!([{"line": "…is the token and…"}, "whole text", "…"]));
    }

    #[test]
    fn unknown_tool_name_is_cut_in_error() {
        assert!(no_such_tool(&"ä".repeat(10_000), &["find"]).len() < 200);
    }
}
