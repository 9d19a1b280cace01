//! Walks the workspace on all cores and merges what the files gave.

use super::{
    Match, Search,
    collect::FileMatches,
    reader::BoundedReader,
    rules::{Here, Rules},
};
use crate::{
    tool::{Budget, ToolError},
    update::Cut,
    workspace::Workspace,
};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::{WalkBuilder, WalkState};
use std::{
    path::Path,
    sync::{Mutex, PoisonError},
};

/// A line without an end must not fill the memory; the file is then passed over and counted.
const LINE_BUFFER: usize = 32 << 20;

/// Returns the matches in order, how many there were in all, and what was cut.
pub(super) fn run(
    search: &Search<'_>,
    start: &Path,
    budget: &Budget,
) -> Result<(Vec<Match>, u64, Cut), ToolError> {
    let merged = Mutex::new(Merged::default());
    if search.workspace.is_file(start) {
        let mut lane = Lane::new(search);
        lane.search_file(search, start, budget, &merged)?;
    } else {
        search.workspace.open_dir(start)?;
        walk(search, start, budget, &merged);
    }
    let mut merged = merged.into_inner().unwrap_or_else(PoisonError::into_inner);
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
    matches: Vec<Match>,
    total: u64,
    unfinished: bool,
    cut: Cut,
}

impl Merged {
    fn add(&mut self, file: FileMatches<'_>, cap: usize) {
        self.total += file.total;
        self.matches.extend(file.kept);
        // Only the first `cap` can ever be shown; twice that is kept so that sorting is rare.
        if self.matches.len() > cap.saturating_mul(2).max(1024) {
            self.keep_first(cap);
        }
    }

    fn keep_first(&mut self, cap: usize) {
        self.matches.sort_unstable();
        self.matches.truncate(cap);
    }
}

fn walk(search: &Search<'_>, start: &Path, budget: &Budget, merged: &Mutex<Merged>) {
    let root = search.workspace.root();
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let rules = Rules::default();
    // `Rules` reads and applies the rule files; the walker only walks.
    let walker = WalkBuilder::new(root.join(start))
        .standard_filters(false)
        .follow_links(false)
        .threads(threads)
        .build_parallel();
    walker.run(|| {
        let (mut lane, mut here, rules) = (Lane::new(search), Here::default(), &rules);
        Box::new(move |entry| {
            if budget.spent() {
                lock(merged).unfinished = true;
                return WalkState::Quit;
            }
            let Ok(entry) = entry else {
                lock(merged).cut.omitted += 1;
                return WalkState::Continue;
            };
            let Ok(path) = entry.path().strip_prefix(root) else { return WalkState::Skip };
            let kind = entry.file_type();
            let is_directory = kind.is_some_and(|kind| kind.is_dir());
            if entry.depth() > 0 && rules.pass_over(path, is_directory, &mut here) {
                return WalkState::Skip;
            }
            let failed = match kind {
                Some(kind) if kind.is_dir() => rules.enter(search.workspace, path),
                Some(kind) if kind.is_file() => lane.search_file(search, path, budget, merged).is_err(),
                _ => false,
            };
            if failed {
                lock(merged).cut.omitted += 1;
            }
            WalkState::Continue
        })
    });
}

/// What one thread reuses from file to file.
struct Lane {
    searcher: Searcher,
    head: Vec<u8>,
}

impl Lane {
    fn new(search: &Search<'_>) -> Self {
        let searcher = SearcherBuilder::new()
            .line_number(true)
            .before_context(search.context)
            .after_context(search.context)
            // `BoundedReader` decides what is binary.
            .binary_detection(BinaryDetection::none())
            .heap_limit(Some(LINE_BUFFER))
            .build();
        Self { searcher, head: Vec::new() }
    }

    fn search_file(
        &mut self,
        search: &Search<'_>,
        path: &Path,
        budget: &Budget,
        merged: &Mutex<Merged>,
    ) -> Result<(), ToolError> {
        let opened = search.workspace.open_file(path)?;
        let named = |error| ToolError::io(&Workspace::shown(path), &error);
        let head = std::mem::take(&mut self.head);
        let Some(mut reader) = BoundedReader::new(opened.file, opened.size, head, budget).map_err(named)?
        else {
            return Ok(());
        };
        let mut found = FileMatches::new(search, path);
        let searched = self.searcher.search_reader(&search.matcher, &mut reader, &mut found);
        if found.total > 0 || reader.cut {
            let mut merged = lock(merged);
            merged.unfinished |= reader.cut;
            merged.add(found, search.cap);
        }
        self.head = reader.into_head();
        searched.map_err(named)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
