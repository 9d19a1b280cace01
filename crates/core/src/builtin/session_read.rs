//! The tool `session.read`.

use super::session_list::provider;
use crate::{
    history::{Event, EventKind, Span},
    text::clip,
    tool::{Tool, ToolContext, ToolError, ToolOutput, parse_arguments},
    update::Cut,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeSet, ops::ControlFlow};

/// Maximum length of a message in characters.
const MESSAGE_CHARS: usize = 2000;
/// Maximum length of arguments, results and reasoning in characters.
const OTHER_CHARS: usize = 400;
/// Maximum number of file names.
const FILE_REFERENCES: usize = 200;

/// Events of one past session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionReadOutput {
    /// Id given by its agent.
    pub session_id: String,
    /// In log order, up to the cap.
    pub events: Vec<SessionEvent>,
    /// There are more events.
    pub truncated: bool,
    /// Number of all events seen.
    pub total_events: u64,
    /// Files that were read or changed, as logged.
    pub file_references: BTreeSet<String>,
}

/// An event of a past session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent {
    /// `user`, `assistant`, `thinking`, `tool_use`, `tool_result`, `file_change`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Line of the log, from 1.
    pub line_number: u64,
    /// Truncated.
    pub content: String,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<i64>,
}

/// Reads one past session.
#[derive(Debug)]
pub struct SessionRead;

/// Arguments of `session.read`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the session, or a unique beginning of it.
    session_id: String,
    /// `codex` or `claude-code`; both when left out.
    provider: Option<String>,
    /// First line of the log, from 1.
    start_line: Option<u64>,
    /// Last line of the log.
    end_line: Option<u64>,
    /// Maximum number of events: 100 by default, up to 200.
    max_events: Option<usize>,
}

impl Tool for SessionRead {
    fn name(&self) -> &'static str {
        "session.read"
    }

    fn description(&self) -> &'static str {
        "Reads one past session of a coding agent: prompts, answers, tool calls and the files they touched."
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Arguments)
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = parse_arguments(arguments)?;
        let limits = context.limits;
        let (from, to) = (arguments.start_line.unwrap_or(1), arguments.end_line.unwrap_or(u64::MAX));
        if from == 0 || to < from {
            let to = arguments.end_line.map(|to| to.to_string()).unwrap_or_default();
            return Err(ToolError::InvalidParameters(format!("Invalid line range: {from}-{to}")));
        }
        let most = arguments.max_events.unwrap_or(limits.read_events).clamp(1, limits.read_events_max);
        let budget = context.budget(limits.read_time);
        let not_found = || ToolError::FileNotFound(format!("session {}", arguments.session_id));
        let wanted = provider(arguments.provider.as_deref()).ok_or_else(not_found)?;
        let transcript = context.history.find(&arguments.session_id, wanted, &budget);
        budget.check_cancelled()?;
        let transcript = transcript.ok_or_else(not_found)?;

        let span = Span {
            from_line: from,
            to_line: to,
            bytes: limits.read_bytes,
            tail_bytes: 0,
            line_bytes: limits.read_line_bytes,
        };
        let mut events = Vec::new();
        let mut total = 0u64;
        let mut files = BTreeSet::new();
        let end = context
            .history
            .read(&transcript, span, &budget, &mut |event| {
                if !event.kind.is_conversation() {
                    return ControlFlow::Continue(());
                }
                total += 1;
                if files.len() < FILE_REFERENCES {
                    files.extend(event.files.iter().map(|file| file.path.clone()));
                }
                if events.len() < most {
                    events.push(row(&event));
                }
                ControlFlow::Continue(())
            })
            .map_err(|error| ToolError::io(&transcript.file_path.to_string_lossy(), &error))?;
        budget.check_cancelled()?;
        let truncated = end.capped || total > events.len() as u64;
        let cut = Cut { truncated, timed_out: end.stopped, omitted: end.bad_lines + end.long_lines };
        let result = SessionReadOutput {
            session_id: transcript.id,
            events,
            truncated: truncated || end.stopped,
            total_events: total,
            file_references: files,
        };
        Ok(ToolOutput::new(result, cut))
    }
}

fn row(event: &Event) -> SessionEvent {
    let content = match &event.kind {
        EventKind::Prompt | EventKind::Assistant => clip(event.text.trim(), MESSAGE_CHARS),
        EventKind::ToolCall { name } if event.text.is_empty() => format!("Tool: {name}"),
        EventKind::ToolCall { name } => format!("Tool: {name}\n{}", clip(event.text.trim(), OTHER_CHARS)),
        _ => clip(event.text.trim(), OTHER_CHARS),
    };
    SessionEvent { kind: event.kind.as_str(), line_number: event.line, content, timestamp: event.timestamp }
}
