//! Searches the text of transcripts as a person would read it: without JSON, keys, ciphertext and images.

use super::{
    excerpt::{excerpt, fill_after, fill_before, place},
    lines::Lines,
    logs::History,
    pattern::Pattern,
    query::{SearchMatch, SearchQuery, SearchResult},
    source::Decoder,
    transcript::{Listing, Query, Transcript},
    worktree::WorktreeScope,
};
use crate::{
    budget::{Budget, Progress},
    parallel,
};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io,
    sync::atomic::{AtomicBool, Ordering},
};

/// More threads would slow down running agents.
const THREADS: usize = 2;
/// Maximum length of a line in bytes; longer ones are images or dumps.
const MAX_LINE: usize = 256 << 10;
/// Maximum length of a context line in bytes; copying longer ones would cost more than the search.
const CONTEXT_LINE: usize = 16 << 10;
/// Lines of a log kept as context before a match; some have no text.
const CONTEXT_WINDOW: usize = 8;
/// Assumed compression ratio of a log.
const ZSTD_RATIO: u64 = 8;

impl History {
    /// Searches transcripts; fails only on a bad pattern, with one sentence. `list_budget` bounds finding the sessions,
    /// `budget` the whole search.
    pub fn search(
        &self,
        query: &SearchQuery,
        list_budget: &Budget,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Result<SearchResult, String> {
        let pattern = Pattern::new(&query.pattern)?;
        let Listing { rows, timed_out: list_cut, unread, .. } = self.to_search(query, list_budget);
        let (jobs, bytes_cut) = within_bytes(rows, query.file_bytes, query.total_bytes);
        let found = self.search_all(&jobs, &pattern, query, budget, progress);
        let mut result = SearchResult {
            truncated: bytes_cut,
            timed_out: list_cut || (budget.timed_out() && found.iter().any(|found| !found.finished)),
            omitted: unread as u64,
            ..SearchResult::default()
        };
        for mut found in found {
            result.total += found.total;
            result.omitted += found.omitted;
            result.truncated |= found.capped;
            let room = query.max_matches - result.matches.len();
            result.truncated |= found.total > room;
            found.matches.truncate(room);
            result.matches.append(&mut found.matches);
        }
        Ok(result)
    }

    fn to_search(&self, query: &SearchQuery, budget: &Budget) -> Listing {
        let only = query.workspace.clone().filter(|_| query.workspace_only);
        let mut listing = self.list(
            &Query {
                provider: query.provider,
                workspace: only,
                since: None,
                all: query.all || !query.sessions.is_empty(),
                limit: 0,
            },
            budget,
        );
        if query.all || !query.sessions.is_empty() {
            // Unread logs are rows too, and are searched.
            listing.unread = 0;
        }
        if !query.sessions.is_empty() {
            listing.rows.retain(|row| query.sessions.contains(&row.id));
        }
        if let Some(workspace) = &query.workspace {
            let mut scope = WorktreeScope::of(workspace);
            let (mut here, elsewhere): (Vec<_>, Vec<_>) = listing
                .rows
                .into_iter()
                .partition(|row| row.cwd.as_deref().is_some_and(|cwd| scope.holds(cwd)));
            here.extend(elsewhere);
            listing.rows = here;
        }
        listing
    }

    fn search_all(
        &self,
        jobs: &[Transcript],
        pattern: &Pattern,
        query: &SearchQuery,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Vec<Found> {
        let board = Mutex::new(Board::new(jobs.len(), query.max_matches));
        let full = AtomicBool::new(false);
        parallel::map(
            jobs.len(),
            THREADS,
            || !budget.spent(),
            || (),
            |(), at| {
                let mut found = Found::default();
                match self.search_one(&jobs[at], pattern, query, &full, budget, &mut found) {
                    Ok(()) => found.finished = !budget.spent(),
                    // Missing or unreadable: no matches.
                    Err(_) => (found.omitted, found.finished) = (found.omitted + 1, true),
                }
                let mut board = board.lock();
                board.put(at, found);
                full.store(board.is_full(), Ordering::Relaxed);
                // Under the lock, so that progress is reported in order.
                progress.report(board.done, jobs.len() as u64);
                Some(())
            },
        );
        board.into_inner().found
    }

    fn search_one(
        &self,
        transcript: &Transcript,
        pattern: &Pattern,
        query: &SearchQuery,
        full: &AtomicBool,
        budget: &Budget,
        found: &mut Found,
    ) -> io::Result<()> {
        let log = super::lines::open(&transcript.file_path)?;
        let mut lines = Lines::new(log, MAX_LINE, query.file_bytes);
        let mut decoder: Option<Box<dyn Decoder>> = None;
        let mut before: VecDeque<(u64, Vec<u8>)> = VecDeque::new();
        let mut events = Vec::new();
        // The last match still needs context lines after it.
        let mut wants_after = false;
        while let Some(line) = lines.next(budget)? {
            let candidate = pattern.may_match(line.bytes);
            if candidate || wants_after {
                if decoder.is_none() {
                    decoder = Some(self.decoder(transcript, budget)?);
                }
                let Some(decoder) = decoder.as_mut() else { continue };
                events.clear();
                decoder.line(line.bytes, line.number, &mut events);
                if wants_after && let Some(last) = found.matches.last_mut() {
                    fill_after(last, &events, query);
                    wants_after = last.after.len() < query.context;
                }
                let place = if candidate { place(&events, pattern) } else { None };
                if let Some(place) = place {
                    found.total += 1;
                    wants_after = false;
                    if found.matches.len() < query.max_matches && !full.load(Ordering::Relaxed) {
                        let mut hit = excerpt(&events, place, query).of(transcript, line.number);
                        for (number, bytes) in before.iter().rev() {
                            if hit.before.len() >= query.context {
                                break;
                            }
                            events.clear();
                            decoder.line(bytes, *number, &mut events);
                            fill_before(&mut hit, &events, query);
                        }
                        wants_after = hit.after.len() < query.context;
                        found.matches.push(hit);
                    }
                }
            }
            if query.context > 0 && line.bytes.len() <= CONTEXT_LINE {
                if before.len() == CONTEXT_WINDOW {
                    before.pop_front();
                }
                before.push_back((line.number, line.bytes.to_vec()));
            }
        }
        let extent = lines.extent();
        found.omitted += extent.long_lines;
        found.capped = extent.capped;
        Ok(())
    }
}

/// Matches in one transcript.
#[derive(Debug, Clone, Default)]
struct Found {
    matches: Vec<SearchMatch>,
    total: usize,
    omitted: u64,
    capped: bool,
    finished: bool,
}

/// Results in the order of the jobs.
struct Board {
    found: Vec<Found>,
    done: u64,
    room: usize,
    /// Number of completed jobs at the start, and their matches.
    prefix: usize,
    prefix_total: usize,
}

impl Board {
    fn new(jobs: usize, room: usize) -> Self {
        Self { found: vec![Found::default(); jobs], done: 0, room, prefix: 0, prefix_total: 0 }
    }

    fn put(&mut self, at: usize, found: Found) {
        self.done += 1;
        self.found[at] = found;
        while let Some(next) = self.found.get(self.prefix).filter(|found| found.finished) {
            self.prefix_total += next.matches.len();
            self.prefix += 1;
        }
    }

    /// Returns whether later jobs cannot add to the kept matches, so that counting is enough.
    fn is_full(&self) -> bool {
        self.prefix_total >= self.room
    }
}

/// Keeps the first sessions whose logs fit into `total` bytes, independent of disk and clock.
fn within_bytes(mut rows: Vec<Transcript>, file: u64, total: u64) -> (Vec<Transcript>, bool) {
    let mut left = total;
    let mut kept = 0;
    for row in &rows {
        let Ok(metadata) = std::fs::metadata(&row.file_path) else {
            kept += 1;
            continue;
        };
        let ratio = if super::lines::is_zstd(&row.file_path) { ZSTD_RATIO } else { 1 };
        let size = metadata.len().saturating_mul(ratio).min(file);
        if size > left {
            break;
        }
        left -= size;
        kept += 1;
    }
    let cut = kept < rows.len();
    rows.truncate(kept);
    (rows, cut)
}
