//! The tool `session.list`.

use super::typed::TypedTool;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use openagents_core::update::Cut;
use openagents_transcripts::history::{Provider, Query, Transcript};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(Debug, Serialize)]
struct SessionRow {
    id: String,
    provider: &'static str,
    /// Milliseconds since the epoch.
    updated_at: i64,
    file_path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    #[serde(default)]
    #[schemars(schema_with = "provider_schema")]
    provider: Option<String>,
    /// Maximum number of sessions: 20 by default, up to 200.
    #[serde(alias = "limit")]
    top_k: Option<usize>,
    /// Only sessions changed since then, in milliseconds since the epoch.
    since: Option<i64>,
    /// Only sessions that ran in this workspace.
    #[serde(default)]
    workspace_only: bool,
}

pub(super) fn session_list() -> impl Tool {
    TypedTool {
        name: "session.list",
        description: "Lists the most recent sessions of the coding agents on this machine, newest first.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let budget = context.budget(context.limits.list_time);
    let result = |sessions: Vec<SessionRow>, truncated: bool, total: usize| json!({"sessions": sessions, "truncated": truncated, "total_count": total});
    let Some(provider) = provider(arguments.provider.as_deref()) else {
        // Documented behaviour of this tool: an unknown agent has no sessions.
        return Ok(ToolOutput::whole(result(Vec::new(), false, 0)));
    };
    let query = Query {
        provider,
        workspace: arguments.workspace_only.then(|| context.workspace.root().to_owned()),
        since: arguments.since,
        limit: arguments.top_k.unwrap_or(context.limits.list_rows).clamp(1, context.limits.list_rows_max),
        ..Query::default()
    };
    let listing = context.history.list(&query, &budget);
    budget.check_cancelled()?;
    let cut =
        Cut { truncated: listing.truncated, timed_out: listing.timed_out, omitted: listing.unread as u64 };
    let rows = listing.rows.into_iter().map(row).collect();
    Ok(ToolOutput::new(result(rows, cut.truncated || cut.timed_out, listing.total), cut))
}

pub(super) fn provider_schema(_: &mut SchemaGenerator) -> Schema {
    let known = Provider::ALL.map(|provider| format!("`{}`", provider.as_str())).join(", ");
    json_schema!({
        "type": ["string", "null"],
        "description": format!("Only sessions of this agent: {known}; those of all agents when left out."),
    })
}

/// Reads the argument `provider`; `None` for an unknown name.
pub(super) fn provider(name: Option<&str>) -> Option<Option<Provider>> {
    match name.map(str::trim) {
        None | Some("" | "all") => Some(None),
        Some(name) => Provider::parse(name).map(Some),
    }
}

fn row(transcript: Transcript) -> SessionRow {
    let cwd = transcript.folder().map(|folder| folder.to_string_lossy().into_owned());
    SessionRow {
        id: transcript.id,
        provider: transcript.provider.as_str(),
        updated_at: transcript.updated_at,
        file_path: transcript.file_path.to_string_lossy().into_owned(),
        title: transcript.title,
        cwd,
        branch: transcript.branch,
    }
}
