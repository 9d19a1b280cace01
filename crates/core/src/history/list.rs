//! Lists transcripts: finds the logs, uses cached ones, reads the others, newest first.

use super::{
    claude::Claude,
    codex::Codex,
    logs::History,
    source::{LogFile, Source},
    transcript::{Listing, Provider, Query, Transcript},
    worktree::WorktreeScope,
};
use crate::{CancellationToken, budget::Budget, parallel};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{OnceLock, atomic::Ordering},
    thread,
    time::Duration,
};

/// More threads do not speed up a disk.
const MAX_THREADS: usize = 4;
/// Time limit for finding an id.
const FIND_TIME: Duration = Duration::from_secs(1);
/// Minimum length of an id prefix; shorter ones match by chance.
const MIN_ID_PREFIX: usize = 8;

impl History {
    /// Lists transcripts, newest first. Logs left when the budget is spent are only counted; if hidden ones are
    /// requested without a workspace, they are listed without titles.
    pub fn list(&self, query: &Query, budget: &Budget) -> Listing {
        let Rows { mut rows, unread, cut_short: timed_out } = self.rows(query, budget);
        if !query.all {
            rows.retain(|row| !row.hidden && !row.subagent);
        }
        if let Some(workspace) = &query.workspace {
            retain_of(workspace, &mut rows);
        }
        let total = rows.len();
        let truncated = query.limit > 0 && total > query.limit;
        if truncated {
            rows.truncate(query.limit);
        }
        Listing { rows, total, truncated, timed_out, unread }
    }

    /// Returns the sessions of the requested agent changed since the requested time, newest first and without
    /// duplicates.
    fn rows(&self, query: &Query, budget: &Budget) -> Rows {
        if let Some(listed) = self.listed.as_ref().and_then(OnceLock::get) {
            let wanted = |row: &&Transcript| {
                query.provider.is_none_or(|provider| row.provider == provider)
                    && query.since.is_none_or(|since| row.updated_at >= since)
            };
            let rows = listed.iter().filter(wanted).cloned().collect();
            return Rows { rows, unread: 0, cut_short: false };
        }
        let found = self.look(query, budget);
        let is_complete =
            query.provider.is_none() && query.since.is_none() && found.unread == 0 && !found.cut_short;
        if let Some(listed) = self.listed.as_ref().filter(|_| is_complete && !budget.spent()) {
            // Another thread may have been faster; its rows are equivalent.
            let _ = listed.set(found.rows.clone());
        }
        found
    }

    fn look(&self, query: &Query, budget: &Budget) -> Rows {
        let mut all = Rows { rows: Vec::new(), unread: 0, cut_short: false };
        for source in self.sources(query.provider) {
            let files = source.discover(budget);
            all.cut_short |= budget.timed_out();
            let recent = |file: &&LogFile| query.since.is_none_or(|since| file.updated_at() >= since);
            let wanted = files.iter().filter(recent).collect();
            let mut found = self.read_all(source.as_ref(), &files, wanted, query.all, budget);
            all.cut_short |= found.cut_short;
            all.unread += found.unread;
            all.rows.append(&mut found.rows);
        }
        newest_first(&mut all.rows);
        // A resumed or restored log may exist twice; the newest is the session.
        let mut seen = HashSet::new();
        all.rows.retain(|row| seen.insert((row.provider, row.id.clone())));
        all
    }

    /// Finds a session by its id or a unique prefix, including hidden ones.
    pub fn find(&self, id: &str, provider: Option<Provider>) -> Option<Transcript> {
        let budget = Budget::within(FIND_TIME, &CancellationToken::new());
        self.find_within(id, provider, &budget)
    }

    pub(crate) fn find_within(
        &self,
        id: &str,
        provider: Option<Provider>,
        budget: &Budget,
    ) -> Option<Transcript> {
        self.find_each(&[id], provider, budget).pop()
    }

    /// Finds several sessions like [`History::find`] with a single scan of the folders; without duplicates, unordered.
    pub(crate) fn find_each(
        &self,
        ids: &[&str],
        provider: Option<Provider>,
        budget: &Budget,
    ) -> Vec<Transcript> {
        let look = |source: Box<dyn Source>| Found { files: source.discover(budget), source };
        let sources: Vec<Found> = self.sources(provider).into_iter().map(look).collect();
        let mut wanted: Vec<Vec<&LogFile>> = vec![vec![]; sources.len()];
        let mut without_file = Vec::new();
        for id in ids.iter().map(|id| id.trim()) {
            match fitting(id, &sources) {
                Some((at, file)) if !wanted[at].contains(&file) => wanted[at].push(file),
                Some(_) => {}
                None => without_file.push(id),
            }
        }
        let mut rows = Vec::new();
        for (Found { source, files }, wanted) in sources.iter().zip(wanted) {
            if !wanted.is_empty() {
                rows.append(&mut self.read_all(source.as_ref(), files, wanted, true, budget).rows);
            }
        }
        // The id is not in a file name: the log was renamed by hand.
        if !without_file.is_empty() {
            let query = Query { provider, all: true, ..Query::default() };
            let mut named = self.list(&query, budget).rows;
            named.retain(|row| without_file.contains(&row.id.as_str()));
            rows.append(&mut named);
        }
        rows
    }

    /// Returns the sources of the requested agents.
    pub(super) fn sources(&self, provider: Option<Provider>) -> Vec<Box<dyn Source>> {
        let wanted = |candidate| provider.is_none_or(|provider| provider == candidate);
        let mut sources: Vec<Box<dyn Source>> = Vec::new();
        if let Some(root) = self.roots.codex.as_deref().filter(|_| wanted(Provider::Codex)) {
            sources.push(Box::new(Codex::new(root)));
        }
        if let Some(root) = self.roots.claude.as_deref().filter(|_| wanted(Provider::ClaudeCode)) {
            sources.push(Box::new(Claude::new(root)));
        }
        sources
    }

    /// Uses the index for the `wanted` logs and reads the others; `files` are all logs.
    fn read_all(
        &self,
        source: &dyn Source,
        files: &[LogFile],
        mut wanted: Vec<&LogFile>,
        with_unread: bool,
        budget: &Budget,
    ) -> Rows {
        wanted.sort_by(|a, b| b.stamp.mtime_ns.cmp(&a.stamp.mtime_ns).then_with(|| a.path.cmp(&b.path)));
        let mut remembered = self.index.load(source.root());
        let mut rows = Vec::new();
        let mut unknown = Vec::new();
        for file in wanted {
            match remembered.remove(&file.path) {
                Some((stamp, row)) if stamp == file.stamp => rows.push(row),
                _ => unknown.push(file),
            }
        }
        let fresh = read_unknown(source, files, &unknown, budget);
        let unread = unknown.len() - fresh.len();
        let cut_short = budget.timed_out() && unread > 0;
        if with_unread && unread > 0 {
            let read: HashSet<usize> = fresh.iter().map(|(at, _)| *at).collect();
            let left = unknown.iter().enumerate().filter(|(at, _)| !read.contains(at));
            rows.extend(left.map(|(_, file)| file.unread(source.provider())));
        }
        self.parsed.fetch_add(fresh.len(), Ordering::Relaxed);
        let to_save: Vec<_> = fresh.into_iter().map(|(at, row)| (unknown[at].stamp, row)).collect();
        rows.extend(to_save.iter().map(|(_, row)| row.clone()));
        if !to_save.is_empty() {
            self.index.save(to_save);
        }
        // Names are stored outside of the logs and may change independently.
        let names = source.names();
        for row in &mut rows {
            if let Some(name) = names.get(&row.id) {
                row.title = Some(name.clone());
            }
        }
        if let Some(workspace) = &self.workspace {
            retain_of(workspace, &mut rows);
        }
        Rows { rows, unread, cut_short }
    }
}

/// Drops sessions that ran outside of `workspace`, or in an unknown directory.
fn retain_of(workspace: &Path, rows: &mut Vec<Transcript>) {
    let mut scope = WorktreeScope::of(workspace);
    rows.retain(|row| row.cwd.as_deref().is_some_and(|cwd| scope.holds(cwd)));
}

struct Rows {
    rows: Vec<Transcript>,
    /// Number of logs not read.
    unread: usize,
    cut_short: bool,
}

/// The logs of one agent.
struct Found {
    source: Box<dyn Source>,
    files: Vec<LogFile>,
}

/// Returns the newest log whose name contains `id`, otherwise the only one with that id prefix; and the index of its
/// source.
fn fitting<'a>(id: &str, sources: &'a [Found]) -> Option<(usize, &'a LogFile)> {
    let each = || {
        let places = sources.iter().enumerate();
        places.flat_map(|(at, found)| found.files.iter().map(move |file| (at, file)))
    };
    let mtime = |(_, file): &(usize, &LogFile)| file.stamp.mtime_ns;
    let exact = each().filter(|(_, file)| file.id == id).max_by_key(mtime);
    if exact.is_some() || id.len() < MIN_ID_PREFIX {
        return exact;
    }
    let beginning = || each().filter(|(_, file)| file.id.starts_with(id));
    let newest = beginning().max_by_key(mtime)?;
    beginning().all(|(_, file)| file.id == newest.1.id).then_some(newest)
}

/// Reads uncached logs on a few threads, newest first, until the budget is spent. Returns the rows and the indices of
/// their logs in `unknown`.
fn read_unknown(
    source: &dyn Source,
    all: &[LogFile],
    unknown: &[&LogFile],
    budget: &Budget,
) -> Vec<(usize, Transcript)> {
    let by_id: OnceLock<HashMap<&str, &PathBuf>> = OnceLock::new();
    let locate = |id: &str| {
        let by_id = by_id.get_or_init(|| all.iter().map(|file| (file.id.as_str(), &file.path)).collect());
        by_id.get(id).map(|path| (*path).clone())
    };
    let summarise = |(): &mut (), at: usize| {
        let row = source.summarise(unknown[at], &locate, budget);
        // A log cut by the deadline must not be cached.
        (!budget.spent()).then_some((at, row))
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
    let read = parallel::map(unknown.len(), threads, || !budget.spent(), || (), summarise);
    read.into_iter().flatten().collect()
}

fn newest_first(rows: &mut [Transcript]) {
    rows.sort_by(|a, b| {
        b.updated_at
            .cmp(&a.updated_at)
            .then_with(|| a.provider.cmp(&b.provider))
            .then_with(|| a.id.cmp(&b.id))
    });
}
