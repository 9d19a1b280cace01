//! The tool `session.search`.

use super::session_list::provider;
use crate::{
    history::{SearchMatch, SearchQuery},
    tool::{Tool, ToolContext, ToolError, ToolOutput, parse_arguments},
    update::Cut,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Context lines when the caller names no number.
const CONTEXT_LINES: usize = 2;

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
    #[serde(alias = "session_ids")]
    session_ids: Option<Vec<String>>,
    /// Matches at the most: 100 when left out, never more than 200.
    #[serde(alias = "max_results")]
    max_results: Option<u64>,
    /// Lines of context on each side: 2 when left out, never more than 4.
    #[serde(alias = "context_lines")]
    context_lines: Option<u64>,
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
        let count = |wanted: Option<u64>, default: usize, most: usize| {
            wanted.map_or(default, |wanted| usize::try_from(wanted).unwrap_or(usize::MAX)).min(most)
        };
        let Some(provider) = provider(arguments.provider.as_deref()) else {
            return Ok(ToolOutput::whole(result(&arguments.pattern, &[], false, 0)));
        };
        let query = SearchQuery {
            pattern: arguments.pattern.clone(),
            provider,
            sessions: arguments.session_ids.unwrap_or_default(),
            workspace: Some(context.workspace.root().to_owned()),
            max_matches: count(arguments.max_results, limits.search_matches, limits.search_matches_max)
                .max(1),
            context: count(arguments.context_lines, CONTEXT_LINES, limits.search_context_max),
            line_chars: limits.search_line_chars,
            file_bytes: limits.search_file_bytes,
            total_bytes: limits.search_total_bytes,
            ..SearchQuery::default()
        };
        let budget = context.budget(limits.search_time);
        // What nobody has listed yet must not eat the time of the search itself.
        let list_budget = context.budget(limits.search_time / 2);
        let found =
            context.history.search(&query, &list_budget, &budget, context.progress).map_err(|reason| {
                ToolError::InvalidParameters(format!("Invalid regex pattern: {}: {reason}", query.pattern))
            })?;
        budget.check_cancelled()?;
        Ok(ToolOutput {
            value: result(&query.pattern, &found.matches, found.truncated || found.timed_out, found.total),
            cut: Cut { truncated: found.truncated, timed_out: found.timed_out, omitted: found.omitted },
        })
    }
}

fn result(pattern: &str, matches: &[SearchMatch], truncated: bool, total: usize) -> Value {
    json!({
        "pattern": pattern,
        "matches": matches.iter().map(row).collect::<Vec<_>>(),
        "truncated": truncated,
        "totalMatches": total,
    })
}

fn row(found: &SearchMatch) -> Value {
    let mut row = json!({
        "sessionId": found.session_id,
        "provider": found.provider.as_str(),
        "lineNumber": found.line_number,
        "line": found.line,
    });
    if !found.before.is_empty() {
        row["contextBefore"] = json!(found.before);
    }
    if !found.after.is_empty() {
        row["contextAfter"] = json!(found.after);
    }
    row
}
