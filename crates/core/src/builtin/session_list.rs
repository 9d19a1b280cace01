//! The tool `session.list`.

use crate::{
    history::{Provider, Query, Transcript},
    tool::{Tool, ToolContext, ToolError, ToolOutput, parse_arguments},
    update::Cut,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Past sessions, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SessionListOutput {
    /// The first sessions, up to the cap.
    pub sessions: Vec<SessionRow>,
    /// There are more, or the deadline was reached.
    pub truncated: bool,
    /// Number of all sessions found.
    pub total_count: usize,
}

/// One past session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionRow {
    /// Id given by its agent.
    pub id: String,
    /// `codex`, `claude-code`.
    pub provider: &'static str,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    /// Path of the log.
    pub file_path: String,
    /// Title given by the agent or a person, otherwise the first prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Working directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Branch checked out there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// Lists past sessions of the agents on this machine.
#[derive(Debug)]
pub struct SessionList;

/// Arguments of `session.list`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// `codex` or `claude-code`; both when left out.
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

impl Tool for SessionList {
    fn name(&self) -> &'static str {
        "session.list"
    }

    fn description(&self) -> &'static str {
        "Lists the most recent sessions of coding agents (Codex, Claude Code) on this machine, newest first."
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Arguments)
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = parse_arguments(arguments)?;
        let budget = context.budget(context.limits.list_time);
        let Some(provider) = provider(arguments.provider.as_deref()) else {
            // Documented behaviour of this tool: an unknown agent has no sessions.
            return Ok(ToolOutput::whole(SessionListOutput::default()));
        };
        let query = Query {
            provider,
            workspace: arguments.workspace_only.then(|| context.workspace.root().to_owned()),
            since: arguments.since,
            all: false,
            limit: arguments.top_k.unwrap_or(context.limits.list_rows).clamp(1, context.limits.list_rows_max),
        };
        let listing = context.history.list(&query, &budget);
        budget.check_cancelled()?;
        let cut = Cut {
            truncated: listing.truncated,
            timed_out: listing.timed_out,
            omitted: listing.unread as u64,
        };
        let result = SessionListOutput {
            sessions: listing.rows.into_iter().map(row).collect(),
            truncated: listing.truncated || listing.timed_out,
            total_count: listing.total,
        };
        Ok(ToolOutput::new(result, cut))
    }
}

/// Reads the argument `provider`; `None` for an unknown name.
pub(super) fn provider(name: Option<&str>) -> Option<Option<Provider>> {
    match name.map(str::trim) {
        None | Some("" | "all") => Some(None),
        Some(name) => Provider::parse(name).map(Some),
    }
}

fn row(transcript: Transcript) -> SessionRow {
    SessionRow {
        id: transcript.id,
        provider: transcript.provider.as_str(),
        updated_at: transcript.updated_at,
        file_path: transcript.file_path.to_string_lossy().into_owned(),
        title: transcript.title,
        cwd: transcript.cwd.map(|cwd| cwd.to_string_lossy().into_owned()),
        branch: transcript.branch,
    }
}
