//! Searches the text of transcripts as a person would read it: without JSON, keys, ciphertext and images.

use super::{
    decoder::LogDecoder,
    excerpt::{excerpt, fill_after, fill_before, place, said},
    lines::{self, Lines, LogLine},
    list::is_of,
    logs::History,
    query::{SearchMatch, SearchQuery, SearchResult},
    search_index::{self, Candidates, Patterns},
    transcript::{Listing, Query, Transcript},
    worktree::WorktreeScope,
};
use crate::{
    budget::{Budget, Progress},
    limits::history as limits,
    parallel,
};
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    io,
    sync::atomic::{AtomicBool, Ordering},
};

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
        let patterns = Patterns::new(query)?;
        let Listing { rows, timed_out: list_cut, unread, .. } = self.to_search(query, list_budget);
        let (mut rows, index_cut) = search_index::choose(self.words.as_deref(), query, rows);
        let bytes_cut = keep_within(&mut rows, query.file_bytes, query.total_bytes);
        let found = self.search_all(&rows, &patterns, query, budget, progress);
        let mut result = SearchResult {
            truncated: bytes_cut || index_cut,
            timed_out: list_cut || (budget.timed_out() && found.iter().any(|found| !found.finished)),
            omitted: unread as u64,
            ..SearchResult::default()
        };
        for mut found in found {
            result.total += found.total;
            result.omitted += found.omitted;
            let room = query.max_matches - result.matches.len();
            result.truncated |= found.capped || found.total > room;
            found.matches.truncate(room);
            result.matches.append(&mut found.matches);
        }
        Ok(result)
    }

    fn to_search(&self, query: &SearchQuery, budget: &Budget) -> Listing {
        let all = query.all || !query.sessions.is_empty();
        let workspace = query.workspace.clone().filter(|_| query.workspace_only);
        let mut listing =
            self.list(&Query { provider: query.provider, workspace, all, ..Query::default() }, budget);
        if all {
            // Unread logs are rows too, and are searched.
            listing.unread = 0;
        }
        if !query.sessions.is_empty() {
            listing.rows.retain(|row| query.sessions.contains(&row.id));
        }
        if let Some(workspace) = &query.workspace {
            let mut scope = WorktreeScope::of(workspace);
            listing.rows.sort_by_key(|row| !is_of(&mut scope, row));
        }
        listing
    }

    fn search_all(
        &self,
        rows: &[(Transcript, Candidates)],
        patterns: &Patterns,
        query: &SearchQuery,
        budget: &Budget,
        progress: &dyn Progress,
    ) -> Vec<Found> {
        let board = Mutex::new(Board { found: vec![Found::default(); rows.len()], ..Board::default() });
        let full = AtomicBool::new(false);
        parallel::map(
            rows.len(),
            limits::THREADS,
            || !budget.spent(),
            || (),
            |(), at| {
                let mut found = Found::default();
                match self.search_one(&rows[at], patterns, query, &full, budget, &mut found) {
                    Ok(()) => found.finished = !budget.spent(),
                    // Missing or unreadable: no matches.
                    Err(_) => (found.omitted, found.finished) = (found.omitted + 1, true),
                }
                let mut board = board.lock();
                board.put(at, found);
                full.store(board.first_matches >= query.max_matches, Ordering::Relaxed);
                // Under the lock, so that progress is reported in order.
                progress.report(board.done, rows.len() as u64);
                Some(())
            },
        );
        board.into_inner().found
    }

    /// Searches one transcript; only counts matches once earlier ones are enough (`full`).
    fn search_one(
        &self,
        (transcript, candidates): &(Transcript, Candidates),
        patterns: &Patterns,
        query: &SearchQuery,
        full: &AtomicBool,
        budget: &Budget,
        found: &mut Found,
    ) -> io::Result<()> {
        // The index has lines that were taken back since.
        let is_outdated = matches!(candidates, Candidates::Lines { appended: Some(offset), .. }
            if self.takes_back_before(transcript, *offset, budget));
        let candidates = if is_outdated { &Candidates::All } else { candidates };
        // A line that the index names is read wherever it is, however long.
        let (mut line_bytes, mut bytes) = (limits::SEARCH_LINE, query.file_bytes);
        if let Candidates::Lines { lines, appended } = candidates {
            found.total = lines.len();
            if query.context == 0 {
                if !full.load(Ordering::Relaxed) {
                    found.matches = self.search_lines(transcript, lines, patterns, query, budget)?;
                }
                if let Some(offset) = appended {
                    let mut matches = self.search_appended(transcript, *offset, patterns, query, budget)?;
                    found.total += matches.len();
                    found.matches.append(&mut matches);
                }
                found.matches.truncate(query.max_matches);
                return Ok(());
            }
            if full.load(Ordering::Relaxed) {
                return Ok(());
            }
            found.matches.extend(search_index::title(transcript, lines, query));
            (line_bytes, bytes) = (limits::LINE, u64::MAX);
        }
        let log = self.open(transcript)?;
        let taken_back = log.taken_back();
        let mut lines = Lines::new(log, line_bytes, bytes);
        let mut decoder: Option<LogDecoder> = None;
        // The original has them, unless it is not asked for.
        let with_copies = !query.sessions.is_empty();
        let mut before: VecDeque<(u64, u64, Vec<u8>)> = VecDeque::new();
        // The last match still needs context lines after it.
        let mut wants_after = false;
        while let Some(line) = lines.next(budget)? {
            let candidate = match candidates {
                Candidates::All => patterns.whole.may_match(line.bytes),
                Candidates::Lines { lines: wanted, .. } => {
                    if !wants_after && wanted.last().is_none_or(|last| *last < line.number) {
                        break;
                    }
                    wanted.contains(&line.number)
                }
            };
            if candidate || wants_after {
                let decoder = match &mut decoder {
                    Some(decoder) => decoder,
                    none => none.insert(self.log_decoder(transcript, taken_back.clone(), 0, budget)?),
                };
                let events = decoder.line(&line).counted(with_copies);
                if wants_after && let Some(last) = found.matches.last_mut() {
                    fill_after(last, events.iter().flat_map(said), query);
                    wants_after = last.after.len() < query.context;
                }
                let place = match candidates {
                    _ if !candidate => None,
                    Candidates::All => place(&events, &patterns.whole),
                    Candidates::Lines { .. } => patterns.place(&events),
                };
                if let Some(place) = place {
                    found.total += usize::from(matches!(candidates, Candidates::All));
                    wants_after = false;
                    if found.matches.len() < query.max_matches && !full.load(Ordering::Relaxed) {
                        let mut hit = excerpt(&events, place, query, transcript, line.number);
                        for (number, offset, bytes) in before.iter().rev() {
                            if hit.before.len() >= query.context {
                                break;
                            }
                            let line = LogLine { number: *number, offset: *offset, bytes, complete: true };
                            let events = decoder.line(&line).counted(with_copies);
                            fill_before(&mut hit, events.iter().flat_map(said), query);
                        }
                        wants_after = hit.after.len() < query.context;
                        found.matches.push(hit);
                    }
                }
            }
            if query.context > 0 && line.bytes.len() <= limits::CONTEXT_LINE {
                if before.len() == limits::CONTEXT_WINDOW {
                    before.pop_front();
                }
                before.push_back((line.number, line.offset, line.bytes.to_vec()));
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

/// Results in the order of the transcripts.
#[derive(Default)]
struct Board {
    found: Vec<Found>,
    done: u64,
    /// Number of finished transcripts at the start, and their matches: later ones cannot displace these.
    first: usize,
    first_matches: usize,
}

impl Board {
    fn put(&mut self, at: usize, found: Found) {
        self.done += 1;
        self.found[at] = found;
        while let Some(next) = self.found.get(self.first).filter(|found| found.finished) {
            self.first_matches += next.matches.len();
            self.first += 1;
        }
    }
}

/// Keeps the first sessions whose logs fit into `total` bytes, independent of disk and clock. Returns whether any were
/// cut.
fn keep_within(rows: &mut Vec<(Transcript, Candidates)>, file: u64, total: u64) -> bool {
    let (found, mut left) = (rows.len(), total);
    let fits = |(row, candidates): &&(Transcript, Candidates)| {
        if *candidates != Candidates::All {
            return true;
        }
        let size = std::fs::metadata(&row.file_path).map_or(0, |log| log.len());
        let ratio = if lines::is_zstd(&row.file_path) { limits::ZSTD_RATIO } else { 1 };
        let rest = left.checked_sub(size.saturating_mul(ratio).min(file));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let kept = rows.iter().take_while(fits).count();
    rows.truncate(kept);
    kept < found
}
