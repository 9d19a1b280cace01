//! Searches the text of transcripts as the user would read it: without JSON, keys, ciphertext and images.

use super::{
    list::may_have_run_in,
    log::{
        decoder::LogDecoder,
        lines::{self, Lines, LogLine, OpenLog},
    },
    logs::History,
    read::line_ends,
    search_text::{
        index_words::query_words,
        query::{SearchMatch, SearchQuery, SearchResult, Unsearched},
        results::{Board, Found, SearchPass},
        target::{SearchTarget, excerpt, fill_after, fill_before, shown_lines},
        typed::TextFit,
        word_index::{IndexedState, IndexedText, SessionKey, WordIndex},
    },
    transcript::{Listing, Query, Transcript},
};
use crate::limits;
use openagents_core::{
    budget::{Budget, Progress},
    git::WorktreeScope,
    parallel,
};
use parking_lot::Mutex;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    io::{self, SeekFrom},
    sync::atomic::Ordering,
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
        let target = &SearchTarget::new(query)?;
        let Listing { rows, timed_out, unread, .. } = self.to_search(query, list_budget);
        let search = SearchPass::new(target, query, budget);
        let parts: Vec<String> =
            target.typed().map(|text| text.parts().map(str::to_owned).collect()).unwrap_or_default();
        let again = if parts.is_empty() { Vec::new() } else { rows.clone() };
        let exact = self.search_exact(&rows, &search);
        let mut result = match exact {
            Some(exact) if exact.matches.len() >= search.enough => exact,
            Some(exact) => {
                let (mut result, matches) =
                    self.search_rows(rows, &SearchPass { best: TextFit::Whole, ..search }, progress);
                let others = matches.into_iter().filter(|(fit, _)| *fit > TextFit::Exact).map(|(_, hit)| hit);
                result.total = result.total.max(exact.total);
                result.matches = exact.matches.into_iter().chain(others).take(search.enough).collect();
                result
            }
            None => self.search_all_rows(rows, &search, progress),
        };
        if result.matches.is_empty() && !parts.is_empty() && !budget.spent() {
            result = self.search_parts(again, &parts, query, budget)?;
        }
        result.timed_out |= timed_out;
        result.omitted += unread as u64;
        Ok(result)
    }

    /// Finds the exact matches, which come first, by their words in the index: these are faster to look up than words
    /// of which only the beginning was typed, and fewer lines contain them. `None` if that saves nothing.
    fn search_exact(&self, rows: &[Transcript], search: &SearchPass<'_>) -> Option<SearchResult> {
        let words = search.target.exact_words().filter(|_| search.enough < usize::MAX)?;
        let search = &SearchPass { words, is_full: false.into(), ..*search };
        let chosen = choose(self.words.as_deref(), search, rows.to_vec());
        let whole = chosen.rows.iter().filter(|(_, candidates)| *candidates == Candidates::All);
        if whole.map(|(row, _)| row.size).sum::<u64>() > limits::APPENDED {
            return None;
        }
        let (mut result, mut matches) = self.search_chosen(chosen, search, &());
        matches.retain(|(fit, _)| *fit == TextFit::Exact);
        // There may be other matches.
        result.truncated = true;
        result.matches = matches.into_iter().take(search.enough).map(|(_, hit)| hit).collect();
        Some(result).filter(|result| !result.timed_out)
    }

    fn search_all_rows(
        &self,
        rows: Vec<Transcript>,
        search: &SearchPass<'_>,
        progress: &dyn Progress,
    ) -> SearchResult {
        let (mut result, matches) = self.search_rows(rows, search, progress);
        result.matches = matches.into_iter().take(search.enough).map(|(_, hit)| hit).collect();
        result
    }

    fn search_rows(
        &self,
        rows: Vec<Transcript>,
        search: &SearchPass<'_>,
        progress: &dyn Progress,
    ) -> (SearchResult, Vec<(TextFit, SearchMatch)>) {
        self.search_chosen(choose(self.words.as_deref(), search, rows), search, progress)
    }

    /// Searches sessions. Returns the matches separately from the result: the best come first, then those of the first
    /// sessions.
    fn search_chosen(
        &self,
        chosen: ChosenRows,
        search: &SearchPass<'_>,
        progress: &dyn Progress,
    ) -> (SearchResult, Vec<(TextFit, SearchMatch)>) {
        let SearchPass { query, budget, .. } = search;
        let ChosenRows { mut rows, unsearched, is_cut } = chosen;
        let bytes_cut = keep_within(&mut rows, query.file_bytes, query.total_bytes);
        let all = self.search_all(&rows, search, progress);
        let mut result = SearchResult {
            truncated: bytes_cut || is_cut,
            timed_out: budget.timed_out() && all.iter().any(|found| !found.finished),
            unsearched,
            ..SearchResult::default()
        };
        let mut matches = Vec::new();
        for mut found in all {
            result.total += found.total;
            result.omitted += found.omitted;
            result.truncated |= found.capped;
            matches.append(&mut found.matches);
        }
        matches.sort_by_key(|(fit, _)| *fit);
        result.truncated |= result.total > search.enough;
        (result, matches)
    }

    /// Finds the sessions that contain every part of a typed text that no line contains as a whole; returns a line for
    /// each part.
    fn search_parts(
        &self,
        mut rows: Vec<Transcript>,
        parts: &[String],
        query: &SearchQuery,
        budget: &Budget,
    ) -> Result<SearchResult, String> {
        let mut result = SearchResult::default();
        let mut lines: HashMap<SessionKey, Vec<SearchMatch>> = HashMap::new();
        for part in parts {
            let query = &SearchQuery { pattern: part.clone(), ..query.clone() };
            let target = &SearchTarget::new(query)?;
            let search = SearchPass {
                per_session: 1,
                enough: usize::MAX,
                best: TextFit::Whole,
                ..SearchPass::new(target, query, budget)
            };
            let found = self.search_all_rows(rows.clone(), &search, &());
            result.timed_out |= found.timed_out;
            result.truncated |= found.truncated;
            result.omitted = result.omitted.max(found.omitted);
            result.unsearched = found.unsearched;
            let mut of_part: HashMap<SessionKey, SearchMatch> =
                found.matches.into_iter().map(|hit| ((hit.provider, hit.session_id.clone()), hit)).collect();
            rows.retain(|row| {
                let key = (row.provider, row.id.clone());
                let hit = of_part.remove(&key);
                hit.map(|hit| lines.entry(key).or_default().push(hit)).is_some()
            });
        }
        for row in rows {
            let mut hits = lines.remove(&(row.provider, row.id)).unwrap_or_default();
            hits.sort_by_key(|hit| hit.line_number);
            hits.dedup_by(|a, b| a.line_number == b.line_number && a.line == b.line);
            result.total += hits.len();
            result.matches.append(&mut hits);
        }
        result.truncated |= result.total > query.max_matches;
        result.matches.truncate(query.max_matches);
        Ok(result)
    }

    fn to_search(&self, query: &SearchQuery, budget: &Budget) -> Listing {
        let all = query.all || !query.sessions.is_empty();
        let workspace = query.workspace.clone().filter(|_| query.workspace_only);
        let mut listing = self.list(
            &Query { provider: query.provider, workspace, all, prompts: true, ..Query::default() },
            budget,
        );
        if all {
            // Unread logs are rows too, and are searched.
            listing.unread = 0;
        }
        if !query.sessions.is_empty() {
            listing.rows.retain(|row| query.sessions.contains(&row.id));
        }
        if let Some(workspace) = &query.workspace {
            let mut scope = WorktreeScope::new(workspace);
            listing.rows.sort_by_cached_key(|row| !may_have_run_in(&mut scope, row));
        }
        listing
    }

    fn search_all(
        &self,
        rows: &[(Transcript, Candidates)],
        search: &SearchPass<'_>,
        progress: &dyn Progress,
    ) -> Vec<Found> {
        let board = Mutex::new(Board::new(rows.len()));
        parallel::map(
            rows.len(),
            limits::THREADS,
            || !search.budget.spent(),
            || (),
            |(), at| {
                let (row, candidates) = &rows[at];
                let mut found = Found::new(row, candidates.has_title(), search);
                match self.search_one(row, candidates, search, &mut found) {
                    Ok(()) => found.finished = !search.budget.spent(),
                    // Missing or unreadable: no matches.
                    Err(_) => (found.omitted, found.finished) = (found.omitted + 1, true),
                }
                found.finish(row, search);
                let mut board = board.lock();
                board.finish(at, found, search.best);
                search.is_full.store(board.first_matches >= search.enough, Ordering::Relaxed);
                // Under the lock, so that progress is reported in order.
                progress.report(board.done, rows.len() as u64);
                Some(())
            },
        );
        board.into_inner().found
    }

    /// Searches one transcript; only counts matches once earlier ones are enough.
    fn search_one(
        &self,
        row: &Transcript,
        candidates: &Candidates,
        search: &SearchPass<'_>,
        found: &mut Found,
    ) -> io::Result<()> {
        // The index contains lines that were undone in the meantime.
        let is_outdated = matches!(candidates, Candidates::Lines { rest: Some(offset), .. }
            if self.undoes_before(row, *offset, search.budget));
        let candidates = if is_outdated { &Candidates::All } else { candidates };
        let Candidates::Lines { lines, unsure, rest } = candidates else {
            return self.scan(row, candidates, 0, search, found);
        };
        let is_full = search.is_full.load(Ordering::Relaxed);
        let named = lines.iter().filter(|line| **line > 0).count();
        if search.query.context > 0 {
            found.total = named;
            return if is_full { Ok(()) } else { self.scan(row, candidates, 0, search, found) };
        }
        if !is_full {
            self.search_lines(row, (lines, true), search, found)?;
            self.search_lines(row, (unsure, false), search, found)?;
        }
        if search.target.is_answered_by_index() {
            found.total = found.total.max(named);
        }
        // Lines that are not read may contain matches.
        found.capped |= is_full && named + unsure.len() > 0;
        rest.map_or(Ok(()), |offset| self.scan(row, &Candidates::All, offset, search, found))
    }

    /// Reads the lines of a log from an offset on.
    fn scan(
        &self,
        row: &Transcript,
        candidates: &Candidates,
        from: u64,
        search: &SearchPass<'_>,
        found: &mut Found,
    ) -> io::Result<()> {
        let SearchPass { target, query, budget, .. } = search;
        // A line that the index lists is read wherever it is, however long.
        let (line_bytes, bytes) = match candidates {
            // The part after the indexed one is short.
            Candidates::All if from > 0 => (limits::SHOWN_LINE, u64::MAX),
            Candidates::All if target.typed().is_some() => (limits::SHOWN_LINE, query.file_bytes),
            Candidates::All => (limits::SEARCH_LINE, query.file_bytes),
            Candidates::Lines { .. } => (limits::LINE, u64::MAX),
        };
        let (log, from, lines_before) = self.open_at(row, from, budget)?;
        let undone = log.undone();
        let mut lines = Lines::new(log, line_bytes, bytes);
        let mut decoder: Option<LogDecoder> = None;
        // Copied lines are skipped, because the original has them, unless particular sessions are requested.
        let with_copies = !query.sessions.is_empty();
        let mut before: VecDeque<(u64, u64, Vec<u8>)> = VecDeque::new();
        // The last match still needs context lines after it.
        let mut wants_after = false;
        while let Some(line) = lines.next(budget)? {
            let number = lines_before + line.number;
            let line = LogLine { number, offset: from + line.offset, ..line };
            let candidate = match candidates {
                Candidates::All => target.may_match(line.bytes),
                Candidates::Lines { lines: named, .. } => {
                    if !wants_after && named.last().is_none_or(|last| *last < number) {
                        break;
                    }
                    named.contains(&number)
                }
            };
            if candidate || wants_after {
                let decoder = match &mut decoder {
                    Some(decoder) => decoder,
                    none => none.insert(self.log_decoder(row, undone.clone(), from, budget)?),
                };
                let events = target.searched(decoder.line(&line).counted(with_copies), row);
                if wants_after && let Some((_, last)) = found.matches.last_mut() {
                    fill_after(last, events.iter().flat_map(shown_lines), query);
                    wants_after = last.after.len() < query.context;
                }
                let place = match candidates {
                    _ if !candidate => None,
                    Candidates::All => target.place(&events),
                    Candidates::Lines { .. } => target.place_of_indexed(&events),
                };
                if let Some((place, fit)) = place {
                    found.total += usize::from(matches!(candidates, Candidates::All));
                    wants_after = false;
                    if found.has_room(fit) && !search.is_full.load(Ordering::Relaxed) {
                        let mut hit = excerpt(&events, place, query, row, number);
                        for (number, offset, bytes) in before.iter().rev() {
                            if hit.before.len() >= query.context {
                                break;
                            }
                            let line = LogLine { number: *number, offset: *offset, bytes, complete: true };
                            let events = decoder.line(&line).counted(with_copies);
                            fill_before(&mut hit, events.iter().flat_map(shown_lines), query);
                        }
                        wants_after = hit.after.len() < query.context;
                        found.add(hit, fit, &events);
                    }
                }
            }
            if query.context > 0 && line.bytes.len() <= limits::CONTEXT_LINE {
                if before.len() == limits::CONTEXT_WINDOW {
                    before.pop_front();
                }
                before.push_back((number, line.offset, line.bytes.to_vec()));
            }
        }
        let extent = lines.extent();
        found.omitted += extent.long_lines;
        found.capped |= extent.capped;
        Ok(())
    }

    /// Opens a log at the offset of a line, or at its start if the offset is too large. Returns the offset used and the
    /// number of lines before it.
    fn open_at(&self, row: &Transcript, from: u64, budget: &Budget) -> io::Result<(OpenLog, u64, u64)> {
        let log = self.open(row)?;
        if from == 0 {
            return Ok((log, 0, 0));
        }
        let (mut log, _) = log.sized()?;
        let before = line_ends(&mut log, 0..from, budget)?;
        let from = if before.is_some() { from } else { 0 };
        log.seek(SeekFrom::Start(from))?;
        Ok((log, from, before.unwrap_or(0)))
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

/// The lines of a transcript to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Candidates {
    /// Every line.
    All,
    Lines {
        /// Lines with the words; 0 is the title.
        lines: BTreeSet<u64>,
        /// Lines that may contain them.
        unsure: BTreeSet<u64>,
        /// All lines from this offset on, which are not indexed, are read too.
        rest: Option<u64>,
    },
}

impl Candidates {
    pub(super) fn has_title(&self) -> bool {
        matches!(self, Self::Lines { lines, .. } if lines.contains(&0))
    }
}

/// The transcripts and lines that a search reads.
pub(super) struct ChosenRows {
    pub(super) rows: Vec<(Transcript, Candidates)>,
    pub(super) unsearched: Unsearched,
    /// The index left out older lines.
    pub(super) is_cut: bool,
}

/// Returns the transcripts that may have a match, in the same order.
pub(super) fn choose(
    index: Option<&dyn WordIndex>,
    search: &SearchPass<'_>,
    rows: Vec<Transcript>,
) -> ChosenRows {
    let SearchPass { query, target, words, .. } = *search;
    let answer = index.filter(|_| !words.is_empty()).and_then(|index| index.lines(words));
    let unsearched = Unsearched { results: !query.whole_logs, ..Unsearched::default() };
    let Some(mut answer) = answer else {
        let rows = rows.into_iter().map(|row| (row, Candidates::All)).collect();
        return ChosenRows { rows, unsearched, is_cut: false };
    };
    let is_typed = target.typed().is_some();
    let mut chosen = ChosenRows { rows: Vec::new(), unsearched, is_cut: answer.truncated };
    let (mut rest_left, mut long_left) = (limits::SEARCH_REST, limits::SEARCH_LONG);
    for row in rows {
        let key: SessionKey = (row.provider, row.id.clone());
        let Some(known) = answer.sessions.get(&key) else {
            chosen.rows.push((row, Candidates::All));
            continue;
        };
        let is_same = known.size == row.size && known.updated_at == row.updated_at;
        let mut rest = if is_same { None } else { known.appended_from(row.size) };
        // Context lines are those of the whole log.
        if !is_same && (rest.is_none() || query.context > 0) {
            chosen.rows.push((row, Candidates::All));
            continue;
        }
        let mut unsure = answer.long.remove(&key).unwrap_or_default();
        if !is_typed {
            chosen.is_cut |= known.cut;
            unsure.clear();
        }
        if known.cut {
            let bytes = known.rest(&row.file_path, row.size);
            let is_read = is_typed && bytes <= rest_left;
            if is_read && known.upto.is_none() {
                rest_left -= bytes;
                chosen.rows.push((row, Candidates::All));
                continue;
            }
            rest = known.upto.filter(|_| is_read);
            if is_read {
                rest_left -= bytes;
            } else {
                chosen.unsearched.ends += 1;
            }
        }
        if unsure.len() > long_left {
            chosen.unsearched.long += unsure.len();
            unsure.clear();
        }
        long_left -= unsure.len();
        let mut lines = answer.lines.remove(&key).unwrap_or_default();
        if target.is_answered_by_index() {
            unsure.retain(|line| !lines.contains(line));
        } else {
            lines.retain(|line| !unsure.contains(line));
        }
        if !lines.is_empty() || !unsure.is_empty() || rest.is_some() || target.fit_of_title(&row).is_some() {
            chosen.rows.push((row, Candidates::Lines { lines, unsure, rest }));
        }
    }
    chosen
}

impl History {
    /// Adds the matches in lines that the index lists. Each line is read by itself: a log may be large, and only its
    /// last line wanted. Texts stored in the index are used only if `is_whole`.
    pub(super) fn search_lines(
        &self,
        transcript: &Transcript,
        (lines, is_whole): (&BTreeSet<u64>, bool),
        search: &SearchPass<'_>,
        found: &mut Found,
    ) -> io::Result<()> {
        let session = (transcript.provider, transcript.id.clone());
        for &line in lines.iter().filter(|line| **line > 0) {
            if found.is_full(search) || search.budget.spent() {
                found.capped = true;
                break;
            }
            let text = self.words.as_ref().and_then(|index| index.text(&session, line));
            let events = match text {
                Some(IndexedText::Kept(events)) if is_whole => events,
                Some(IndexedText::Logged { first, offset }) => {
                    self.line_events(transcript, (first, offset), line, search.budget)?
                }
                _ => self.line_events(transcript, (1, 0), line, search.budget)?,
            };
            let events = search.target.searched(events, transcript);
            if let Some((place, fit)) = search.target.place_of_indexed(&events) {
                found.total += 1;
                found.add(excerpt(&events, place, search.query, transcript, line), fit, &events);
            }
        }
        Ok(())
    }
}

/// Finds the lines of transcripts that contain any of some words.
#[derive(Debug)]
pub struct WordLines {
    /// Without the sessions that have to be read whole.
    indexed: HashMap<SessionKey, (IndexedState, BTreeSet<u64>)>,
    /// The index left out older lines.
    pub truncated: bool,
    query: SearchQuery,
    target: SearchTarget,
}

impl History {
    /// Looks up words in the index. The last word of each text may be the beginning of a longer one, unless a space
    /// follows. Returns `None` without texts. Blocks.
    pub fn word_lines(&self, texts: &[String]) -> Option<WordLines> {
        let mut indexed: HashMap<SessionKey, (IndexedState, BTreeSet<u64>)> = HashMap::new();
        let mut truncated = false;
        for text in texts {
            let answer = self.words.as_ref().and_then(|index| index.lines(&query_words(text)));
            let Some(mut answer) = answer else {
                indexed.clear();
                break;
            };
            truncated |= answer.truncated;
            for (session, state) in answer.sessions.into_iter().filter(|(_, state)| !state.cut) {
                let lines = answer.lines.remove(&session).unwrap_or_default();
                indexed.entry(session).or_insert_with(|| (state, BTreeSet::new())).1.extend(lines);
            }
        }
        let forms: Vec<String> = texts.iter().map(|text| regex::escape(text.trim_end())).collect();
        let query = SearchQuery {
            pattern: forms.join("|"),
            max_matches: limits::WORD_LINES,
            file_bytes: u64::MAX,
            ..SearchQuery::default()
        };
        let target = SearchTarget::new(&query).ok().filter(|_| !texts.is_empty())?;
        Some(WordLines { indexed, truncated, target, query })
    }

    /// Returns the lines of a transcript with any of the words, from 1. Its log is read whole if the index does not
    /// have all of it in its current state. Blocks.
    pub fn lines_with(
        &self,
        words: &WordLines,
        transcript: &Transcript,
        budget: &Budget,
    ) -> io::Result<BTreeSet<u64>> {
        let known = words.indexed.get(&(transcript.provider, transcript.id.clone()));
        let is_current =
            |state: &IndexedState| state.size == transcript.size && state.updated_at == transcript.updated_at;
        if let Some((_, lines)) = known.filter(|(state, _)| is_current(state)) {
            return Ok(lines.clone());
        }
        self.check(transcript)?;
        let search = SearchPass::new(&words.target, &words.query, budget);
        let mut found = Found::new(transcript, false, &search);
        self.scan(transcript, &Candidates::All, 0, &search, &mut found)?;
        Ok(found.matches.into_iter().map(|(_, hit)| hit.line_number).collect())
    }
}
