//! Context of a running tool.

use openagents_core::{
    budget::{Budget, Progress},
    workspace::Workspace,
};
use openagents_transcripts::history::History;
use std::{borrow::Cow, time::Duration};
use tokio_util::sync::CancellationToken;

#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    /// The only directory that a workspace tool may access.
    pub workspace: &'a Workspace,
    /// The transcripts of other agents on this machine.
    pub history: &'a History,
    /// The caps.
    pub limits: &'a Limits,
    /// Cancelled when the result is no longer needed.
    pub cancel: &'a CancellationToken,
    /// Receives the progress of a long call.
    pub progress: &'a dyn Progress,
    /// Changes a text of a session before it is cut: for a reader that must not get all of it.
    pub rewrite: for<'t> fn(&'t str) -> Cow<'t, str>,
}

/// Returns a text of a session as it is.
pub fn unchanged(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

impl ToolContext<'_> {
    pub fn budget(&self, time: Duration) -> Budget {
        Budget::within(time, self.cancel)
    }
}

/// The limits of the tools. The defaults are those of the product's specification.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// `session.list`: wall time.
    pub list_time: Duration,
    /// `session.list`: default number of rows.
    pub list_rows: usize,
    /// `session.list`: maximum number of rows.
    pub list_rows_max: usize,
    /// `session.search`: wall time.
    pub search_time: Duration,
    /// `session.search`: default number of matches.
    pub search_matches: usize,
    /// `session.search`: maximum number of matches.
    pub search_matches_max: usize,
    /// `session.search`: maximum number of context lines.
    pub search_context_max: usize,
    /// `session.search`: characters of a line.
    pub search_line_chars: usize,
    /// `session.search`: bytes read of one transcript.
    pub search_file_bytes: u64,
    /// `session.search`: bytes read in all.
    pub search_total_bytes: u64,
    /// `session.read`: wall time.
    pub read_time: Duration,
    /// `session.read`: bytes.
    pub read_bytes: u64,
    /// `session.read`: default number of events.
    pub read_events: usize,
    /// `session.read`: maximum number of events.
    pub read_events_max: usize,
    /// `session.read`: maximum line length in bytes; longer lines are skipped and counted.
    pub read_line_bytes: usize,
    /// `session.analyze`: wall time.
    pub analyze_time: Duration,
    /// `session.analyze`: sessions.
    pub analyze_sessions: usize,
    /// `session.analyze`: goals.
    pub analyze_goals: usize,
    /// `fs.list_dir`: entries.
    pub list_dir_entries: usize,
    /// `content.get_span`: lines.
    pub span_lines: u64,
    /// `content.get_span`: bytes of the lines.
    pub span_bytes: usize,
    /// `content.get_span`: maximum file size in bytes.
    pub span_file_bytes: u64,
    /// `search.grep`: memory of a compiled pattern, and of its automaton, in bytes.
    pub regex_bytes: usize,
    /// `search.grep`: wall time.
    pub grep_time: Duration,
    /// `search.grep`: matches.
    pub grep_matches: usize,
    /// `search.grep`: maximum number of context lines.
    pub grep_context_max: usize,
    /// `search.grep`: characters of a line.
    pub grep_line_chars: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            list_time: Duration::from_millis(1000),
            list_rows: 20,
            list_rows_max: 200,
            search_time: Duration::from_millis(1500),
            search_matches: 100,
            search_matches_max: 200,
            search_context_max: 4,
            search_line_chars: 240,
            search_file_bytes: 8 << 20,
            search_total_bytes: 256 << 20,
            read_time: Duration::from_millis(1500),
            read_bytes: 1 << 20,
            read_events: 100,
            read_events_max: 200,
            read_line_bytes: 256 << 10,
            analyze_time: Duration::from_millis(3000),
            analyze_sessions: 10,
            analyze_goals: 20,
            list_dir_entries: 500,
            span_lines: 120,
            span_bytes: 8192,
            span_file_bytes: 10_000_000,
            regex_bytes: 4 << 20,
            grep_time: Duration::from_millis(1500),
            grep_matches: 200,
            grep_context_max: 3,
            grep_line_chars: 500,
        }
    }
}
