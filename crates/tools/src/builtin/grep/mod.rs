//! The tool `search.grep`: a regular expression over the files of the workspace.
//!
//! Searches the files of [`openagents_core::walk`], except binary ones. Runs to the end or to the deadline and
//! truncates last, so that the total is exact and the order stable.

mod collect;
mod files;
mod reader;

use super::typed::TypedTool;
use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};
use collect::{GrepMatch, Search};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Arguments {
    /// Regular expression (Rust syntax).
    pattern: String,
    /// File or directory relative to the workspace.
    path_prefix: Option<String>,
    /// Ignore case.
    #[serde(default)]
    case_insensitive: bool,
    /// Maximum number of matches (up to 200).
    max_results: Option<usize>,
    /// Lines of context around each match (0 to 3).
    #[serde(default)]
    context_lines: usize,
}

/// The matching lines, by path and line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GrepOutput {
    /// The regular expression.
    pub pattern: String,
    /// The first matches, up to the cap.
    pub matches: Vec<GrepMatch>,
    /// The cap left matches out.
    pub truncated: bool,
    /// Number of matches found, shown or not.
    pub total_matches: u64,
}

pub(super) fn grep() -> impl Tool {
    TypedTool {
        name: "search.grep",
        description: "Searches the files of the workspace for a regular expression and gives the matching lines.",
        run,
    }
}

fn run(context: &ToolContext<'_>, arguments: Arguments) -> Result<ToolOutput, ToolError> {
    let limits = context.limits;
    let search = Search {
        workspace: context.workspace,
        matcher: matcher(&arguments.pattern, arguments.case_insensitive, limits.regex_bytes)?,
        context: arguments.context_lines.min(limits.grep_context_max),
        cap: arguments.max_results.unwrap_or(limits.grep_matches).min(limits.grep_matches),
        line_chars: limits.grep_line_chars,
    };
    let start = context.workspace.resolve(arguments.path_prefix.as_deref().unwrap_or("."))?;
    let budget = context.budget(limits.grep_time);
    let (matches, total_matches, cut) = files::search(&search, &start, &budget)?;
    budget.check_cancelled()?;
    let found = GrepOutput { pattern: arguments.pattern, matches, truncated: cut.truncated, total_matches };
    Ok(ToolOutput::new(found, cut))
}

fn matcher(pattern: &str, case_insensitive: bool, bytes: usize) -> Result<RegexMatcher, ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::InvalidParameters("the pattern is empty".to_owned()));
    }
    RegexMatcherBuilder::new()
        .case_insensitive(case_insensitive)
        .line_terminator(Some(b'\n'))
        .size_limit(bytes)
        .dfa_size_limit(bytes)
        .build(pattern)
        .map_err(|error| ToolError::InvalidParameters(format!("Invalid regex pattern: {pattern}: {error}")))
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
