//! Opens cited places.

use super::{
    citation::{Citation, CitationTarget},
    words::Words,
};
use crate::agent::limits::LINES_AROUND;
use openagents_core::{
    CancellationToken,
    budget::Budget,
    workspace::{self, PathError, Workspace},
};
use openagents_tools::tool::{Limits, Toolbox};
use openagents_transcripts::history::{History, Provider, Span};
use std::{
    io::{BufRead, BufReader, Read},
    ops::ControlFlow,
    path::Path,
    sync::Arc,
};

/// The files of a workspace and the past sessions.
#[derive(Debug, Clone)]
pub(super) struct CitedPlaces {
    pub(super) workspace: Arc<Workspace>,
    history: Arc<History>,
    limits: Limits,
}

impl CitedPlaces {
    pub(super) fn new(workspace: Arc<Workspace>, tools: &Toolbox) -> Self {
        Self { workspace, history: Arc::clone(&tools.history), limits: tools.limits.clone() }
    }

    pub(super) fn exist(&self, path: &str) -> bool {
        match self.workspace.resolve(path) {
            Ok(resolved) => resolved != Path::new(".") && self.workspace.exists(&resolved),
            Err(error) => matches!(error, PathError::Outside(_)),
        }
    }

    /// Returns whether every cited line exists and has one of the words near it. Blocks for [`Limits::read_time`].
    pub(super) fn confirm(&self, citation: &Citation, words: &Words, cancel: &CancellationToken) -> bool {
        let budget = Budget::within(self.limits.read_time, cancel);
        let confirms = |&(start, end): &(u64, u64)| {
            let is_range = 0 < start && start <= end;
            is_range
                && match &citation.target {
                    CitationTarget::File(path) => self.file_tells(path, start, end, words, &budget),
                    CitationTarget::Session { provider, id } => {
                        self.session_tells(provider.as_deref(), id, start, end, words, &budget)
                    }
                }
                .unwrap_or(false)
        };
        !citation.spans.is_empty() && citation.spans.iter().all(confirms)
    }

    fn file_tells(&self, path: &str, start: u64, end: u64, words: &Words, budget: &Budget) -> Option<bool> {
        let path = self.workspace.resolve(path).ok()?;
        let opened = self.workspace.open_file(&path).ok()?;
        if opened.size > self.limits.span_file_bytes {
            return None;
        }
        let mut reader = BufReader::new(workspace::decoding(opened.file.take(self.limits.span_file_bytes)));
        let (mut line, mut last, mut tells) = (Vec::new(), 0, false);
        // Reads to the end of the span even after a match, because every line must exist.
        while last < end.saturating_add(LINES_AROUND) && !budget.spent() {
            line.clear();
            if reader.read_until(b'\n', &mut line).ok()? == 0 {
                break;
            }
            last += 1;
            let counts = last.saturating_add(LINES_AROUND) >= start;
            tells = tells || counts && words.occur_in(&String::from_utf8_lossy(&line));
        }
        Some(last >= end && tells)
    }

    fn session_tells(
        &self,
        provider: Option<&str>,
        id: &str,
        start: u64,
        end: u64,
        words: &Words,
        budget: &Budget,
    ) -> Option<bool> {
        let provider = provider.and_then(Provider::parse);
        let transcript = self.history.find(id, provider, budget)?;
        let span = Span {
            from_line: start.saturating_sub(LINES_AROUND).max(1),
            to_line: end.saturating_add(LINES_AROUND),
            bytes: self.limits.read_bytes,
            tail_bytes: 0,
            line_bytes: self.limits.read_line_bytes,
        };
        let (mut reaches, mut tells) = (false, false);
        let read = self.history.read_transcript(&transcript, span, budget, &mut |event| {
            // A line without an event cannot be cited, but the transcript continues after it.
            reaches = reaches || event.line >= start;
            tells = tells
                || words.occur_in(&event.text)
                || event.files.iter().any(|file| words.occur_in(&file.path));
            ControlFlow::Continue(())
        });
        read.ok()?;
        Some(reaches && tells)
    }
}
