//! The tool `session.search`.

use super::session_list::provider;
use crate::{
    history::{SearchMatch, SearchQuery},
    tool::{Tool, ToolContext, ToolError, ToolOutput, parse_arguments},
    update::Cut,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Default number of context lines.
const CONTEXT_LINES: usize = 2;

/// The matching lines of past sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSearchOutput {
    /// As requested.
    pub pattern: String,
    /// Matches of this workspace first, then newest first; up to the cap.
    pub matches: Vec<SearchMatch>,
    /// There are more, or the deadline was reached.
    pub truncated: bool,
    /// Number of all matches seen.
    pub total_matches: usize,
}

/// Searches the past sessions of the agents on this machine.
#[derive(Debug)]
pub struct SessionSearch;

/// Arguments of `session.search`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// A regular expression, case-insensitive.
    pattern: String,
    /// `codex` or `claude-code`; both when left out.
    provider: Option<String>,
    /// Only these sessions.
    session_ids: Option<Vec<String>>,
    /// Maximum number of matches: 100 by default, up to 200.
    max_results: Option<usize>,
    /// Lines of context on each side: 2 by default, up to 4.
    context_lines: Option<usize>,
}

impl Tool for SessionSearch {
    fn name(&self) -> &'static str {
        "session.search"
    }

    fn description(&self) -> &'static str {
        "Searches what was said and done in past sessions of coding agents; those of this workspace come first."
    }

    fn schema(&self) -> schemars::Schema {
        schemars::schema_for!(Arguments)
    }

    fn call(&self, context: &ToolContext<'_>, arguments: Value) -> Result<ToolOutput, ToolError> {
        let arguments: Arguments = parse_arguments(arguments)?;
        let limits = context.limits;
        if arguments.pattern.is_empty() {
            return Err(ToolError::InvalidParameters("pattern is empty".to_owned()));
        }
        let Some(provider) = provider(arguments.provider.as_deref()) else {
            let none = SessionSearchOutput {
                pattern: arguments.pattern,
                matches: Vec::new(),
                truncated: false,
                total_matches: 0,
            };
            return Ok(ToolOutput::whole(none));
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
        // Listing new logs must not use up the time of the search.
        let list_budget = context.budget(limits.search_time / 2);
        let found =
            context.history.search(&query, &list_budget, &budget, context.progress).map_err(|reason| {
                ToolError::InvalidParameters(format!("Invalid regex pattern: {}: {reason}", query.pattern))
            })?;
        budget.check_cancelled()?;
        let cut = Cut { truncated: found.truncated, timed_out: found.timed_out, omitted: found.omitted };
        let result = SessionSearchOutput {
            pattern: query.pattern,
            matches: found.matches,
            truncated: found.truncated || found.timed_out,
            total_matches: found.total,
        };
        Ok(ToolOutput::new(result, cut))
    }
}
