//! The tool `session.read`.

use super::{
    session_list::{provider, provider_schema},
    typed::TypedTool,
};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use openagents_core::{text::clip, update::Cut};
use openagents_transcripts::history::{Event, EventKind, Span};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{collections::BTreeSet, ops::ControlFlow};

/// Maximum length of a message in characters.
const MESSAGE_CHARS: usize = 2000;
/// Maximum length of arguments, results and reasoning in characters.
const OTHER_CHARS: usize = 400;
/// Maximum number of file names.
const FILE_REFERENCES: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Id of the session, or a unique beginning of it.
    session_id: String,
    #[serde(default)]
    #[schemars(schema_with = "provider_schema")]
    provider: Option<String>,
    /// First line of the log, from 1.
    start_line: Option<u64>,
    /// Last line of the log.
    end_line: Option<u64>,
    /// Maximum number of events: 100 by default, up to 200.
    max_events: Option<usize>,
}

/// Creates the tool `session.read`.
pub fn session_read() -> impl Tool {
    TypedTool {
        name: "session.read",
        description: "Reads one past session of a coding agent: prompts, answers, tool calls and the files they touched.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
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
        .read_transcript(&transcript, span, &budget, &mut |event| {
            if event.undone {
                return ControlFlow::Continue(());
            }
            if !event.kind.is_conversation() {
                return ControlFlow::Continue(());
            }
            total += 1;
            if files.len() < FILE_REFERENCES {
                files.extend(event.files.iter().map(|file| file.path.clone()));
            }
            if events.len() < most {
                events.push(row(&event, context));
            }
            ControlFlow::Continue(())
        })
        .map_err(|error| ToolError::io(&transcript.file_path.to_string_lossy(), &error))?;
    budget.check_cancelled()?;
    let truncated = end.capped || total > events.len() as u64;
    let cut = Cut { truncated, timed_out: end.stopped, omitted: end.bad_lines + end.long_lines };
    let result = json!({
        "sessionId": transcript.id,
        "events": events,
        "truncated": truncated || end.stopped,
        "totalEvents": total,
        "fileReferences": files,
    });
    Ok(ToolOutput::new(result, cut))
}

fn row(event: &Event, context: &ToolContext<'_>) -> Value {
    let text = (context.rewrite)(event.text.trim());
    let content = match &event.kind {
        EventKind::Prompt | EventKind::Assistant => clip(&text, MESSAGE_CHARS),
        EventKind::ToolCall { name } if event.text.is_empty() => format!("Tool: {name}"),
        EventKind::ToolCall { name } => format!("Tool: {name}\n{}", clip(&text, OTHER_CHARS)),
        _ => clip(&text, OTHER_CHARS),
    };
    let mut row = json!({"type": event.kind.as_str(), "lineNumber": event.line, "content": content});
    if let Some(timestamp) = event.timestamp {
        row["timestamp"] = timestamp.into();
    }
    row
}
