//! The tool `session.search`.

use super::{
    session_list::{provider, provider_schema},
    typed::TypedTool,
};
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use openagents_core::update::Cut;
use openagents_transcripts::history::{SearchMatch, SearchQuery};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Default number of context lines.
const CONTEXT_LINES: usize = 2;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// A regular expression, case-insensitive.
    pattern: String,
    #[serde(default)]
    #[schemars(schema_with = "provider_schema")]
    provider: Option<String>,
    /// Only these sessions.
    session_ids: Option<Vec<String>>,
    /// Maximum number of matches: 100 by default, up to 200.
    max_results: Option<usize>,
    /// Lines of context on each side: 2 by default, up to 4.
    context_lines: Option<usize>,
}

/// Creates the tool `session.search`.
pub fn session_search() -> impl Tool {
    TypedTool {
        name: "session.search",
        description: "Searches what was said and done in past sessions of coding agents; those of this workspace come first.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let limits = context.limits;
    if arguments.pattern.is_empty() {
        return Err(ToolError::InvalidParameters("pattern is empty".to_owned()));
    }
    let Some(provider) = provider(arguments.provider.as_deref()) else {
        return Ok(ToolOutput::whole(result(&arguments.pattern, &[], false, 0)));
    };
    let query = SearchQuery {
        pattern: arguments.pattern.clone(),
        provider,
        sessions: arguments.session_ids.unwrap_or_default(),
        workspace: Some(context.workspace.root().to_owned()),
        max_matches: arguments
            .max_results
            .unwrap_or(limits.search_matches)
            .clamp(1, limits.search_matches_max),
        context: arguments.context_lines.unwrap_or(CONTEXT_LINES).min(limits.search_context_max),
        line_chars: limits.search_line_chars,
        file_bytes: limits.search_file_bytes,
        total_bytes: limits.search_total_bytes,
        ..SearchQuery::default()
    };
    let budget = context.budget(limits.search_time);
    // Listing new transcripts must not use up the time of the search.
    let list_budget = context.budget(limits.search_time / 2);
    let found =
        context.history.search(&query, &list_budget, &budget, context.progress).map_err(|reason| {
            ToolError::InvalidParameters(format!("Invalid regex pattern: {}: {reason}", query.pattern))
        })?;
    budget.check_cancelled()?;
    let cut = Cut { truncated: found.truncated, timed_out: found.timed_out, omitted: found.omitted };
    let truncated = found.truncated || found.timed_out;
    Ok(ToolOutput::new(result(&query.pattern, &found.matches, truncated, found.total), cut))
}

/// `matches` is sorted: this workspace first, then newest first; `total` counts all that were found.
fn result(pattern: &str, matches: &[SearchMatch], truncated: bool, total: usize) -> Value {
    json!({"pattern": pattern, "matches": matches, "truncated": truncated, "totalMatches": total})
}
