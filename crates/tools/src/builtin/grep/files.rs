//! Searches the files of a walk and merges the matches.

use super::{
    collect::{FileMatches, GrepMatch, Search},
    reader::BoundedReader,
};
use crate::tool::ToolError;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use openagents_core::{budget::Budget, update::Cut, walk, workspace::Workspace};
use parking_lot::Mutex;
use std::path::Path;

/// Longest line in bytes. A file with a longer one is skipped and counted.
const LINE_BUFFER: usize = 32 << 20;

/// Returns the matches in order, the total number of matches, and the cut.
pub(super) fn search(
    search: &Search<'_>,
    start: &Path,
    budget: &Budget,
) -> Result<(Vec<GrepMatch>, u64, Cut), ToolError> {
    let merged = Mutex::new(Merged::default());
    if search.workspace.is_file(start) {
        search_file(&mut searcher(search), search, start, budget, &merged)?;
    } else {
        search.workspace.open_dir(start)?;
        let walked = walk::files(search.workspace, start, budget, || {
            let (mut searcher, merged) = (searcher(search), &merged);
            move |path: &Path| search_file(&mut searcher, search, path, budget, merged)
        });
        let mut merged = merged.lock();
        merged.unfinished |= walked.unfinished;
        merged.cut.omitted += walked.omitted;
    }
    let mut merged = merged.into_inner();
    merged.keep_first(search.cap);
    merged.cut.truncated = merged.total > merged.matches.len() as u64;
    if budget.timed_out() && merged.unfinished {
        merged.cut.timed_out = true;
        merged.cut.truncated = true;
    }
    Ok((merged.matches, merged.total, merged.cut))
}

#[derive(Default)]
struct Merged {
    matches: Vec<GrepMatch>,
    total: u64,
    unfinished: bool,
    cut: Cut,
}

impl Merged {
    fn add(&mut self, file: FileMatches<'_>, cap: usize) {
        self.total += file.total;
        self.matches.extend(file.kept);
        // Only the first `cap` matches can be shown; twice as many are kept so that they are sorted rarely.
        if self.matches.len() > cap.saturating_mul(2).max(1024) {
            self.keep_first(cap);
        }
    }

    fn keep_first(&mut self, cap: usize) {
        self.matches.sort_unstable();
        self.matches.truncate(cap);
    }
}

fn searcher(search: &Search<'_>) -> Searcher {
    SearcherBuilder::new()
        .line_number(true)
        .before_context(search.context)
        .after_context(search.context)
        // `BoundedReader` decides what is binary.
        .binary_detection(BinaryDetection::none())
        .heap_limit(Some(LINE_BUFFER))
        .build()
}

fn search_file(
    searcher: &mut Searcher,
    search: &Search<'_>,
    path: &Path,
    budget: &Budget,
    merged: &Mutex<Merged>,
) -> Result<(), ToolError> {
    let opened = search.workspace.open_file(path)?;
    let named = |error| ToolError::io(&Workspace::shown(path), &error);
    let Some(mut reader) = BoundedReader::new(opened.file, opened.size, budget).map_err(named)? else {
        return Ok(());
    };
    let mut found = FileMatches::new(search, path);
    let searched = searcher.search_reader(&search.matcher, &mut reader, &mut found);
    if found.total > 0 || reader.cut {
        let mut merged = merged.lock();
        merged.unfinished |= reader.cut;
        merged.add(found, search.cap);
    }
    searched.map_err(named)
}
