//! Lists transcripts: finds the logs, uses cached ones, reads the others, newest first.

use super::{
    formats,
    log_file::LogFile,
    logs::History,
    source::Source,
    transcript::{Listing, Provider, Query, Transcript},
    worktree::WorktreeScope,
};
use crate::{budget::Budget, limits::history as limits, parallel};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
};

impl History {
    /// Lists transcripts, newest first. Logs left when the budget is spent are only counted; if hidden ones are
    /// requested without a workspace, they are listed without titles.
    pub fn list(&self, query: &Query, budget: &Budget) -> Listing {
        let mut listing = self.rows(query, budget);
        let rows = &mut listing.rows;
        if !query.all {
            rows.retain(|row| !row.hidden && !row.subagent);
        }
        if let Some(workspace) = &query.workspace {
            retain_of(workspace, rows);
        }
        listing.total = rows.len();
        listing.truncated = query.limit > 0 && listing.total > query.limit;
        if listing.truncated {
            rows.truncate(query.limit);
        }
        listing
    }

    /// Returns the sessions of the requested agent changed since the requested time, newest first and without
    /// duplicates.
    fn rows(&self, query: &Query, budget: &Budget) -> Listing {
        if let Some(listed) = self.listed.as_ref().and_then(OnceLock::get) {
            let wanted = |row: &&Transcript| {
                query.provider.is_none_or(|provider| row.provider == provider)
                    && query.since.is_none_or(|since| row.updated_at >= since)
            };
            return Listing { rows: listed.iter().filter(wanted).cloned().collect(), ..Listing::default() };
        }
        let found = self.look(query, budget);
        let is_complete =
            query.provider.is_none() && query.since.is_none() && found.unread == 0 && !found.timed_out;
        if let Some(listed) = self.listed.as_ref().filter(|_| is_complete && !budget.spent()) {
            // Another thread may have been faster; its rows are equivalent.
            let _ = listed.set(found.rows.clone());
        }
        found
    }

    fn look(&self, query: &Query, budget: &Budget) -> Listing {
        let mut all = Listing::default();
        for source in self.sources(query.provider) {
            let files = source.format.discover(&source.root, budget);
            all.timed_out |= budget.timed_out();
            let recent = |file: &&LogFile| query.since.is_none_or(|since| file.updated_at() >= since);
            let wanted = files.iter().filter(recent).collect();
            let mut found = self.read_all(&source, &files, wanted, query.all, budget);
            all.timed_out |= found.timed_out;
            all.unread += found.unread;
            all.rows.append(&mut found.rows);
        }
        all.rows.sort_by(|a, b| (b.updated_at, a.provider, &a.id).cmp(&(a.updated_at, b.provider, &b.id)));
        // A resumed or restored log may exist twice; the newest is the session.
        let mut seen = HashSet::new();
        all.rows.retain(|row| seen.insert((row.provider, row.id.clone())));
        all
    }

    /// Finds a session by its id or a unique prefix, including hidden ones.
    pub fn find(&self, id: &str, provider: Option<Provider>, budget: &Budget) -> Option<Transcript> {
        self.find_each(&[id], provider, budget).pop()
    }

    /// Finds several sessions like [`History::find`] with a single scan of the folders; without duplicates, unordered.
    pub(crate) fn find_each(
        &self,
        ids: &[&str],
        provider: Option<Provider>,
        budget: &Budget,
    ) -> Vec<Transcript> {
        let discovered = |source: Source| (source.format.discover(&source.root, budget), source);
        let sources: Vec<_> = self.sources(provider).into_iter().map(discovered).collect();
        let (mut wanted, mut without_file) = (Vec::new(), Vec::new());
        for id in ids.iter().map(|id| id.trim()) {
            match fitting(id, sources.iter().flat_map(|(files, _)| files)) {
                Some(file) => wanted.push(file),
                None => without_file.push(id),
            }
        }
        let mut rows = Vec::new();
        for (files, source) in &sources {
            let wanted: Vec<_> = files.iter().filter(|file| wanted.contains(file)).collect();
            if !wanted.is_empty() {
                rows.append(&mut self.read_all(source, files, wanted, true, budget).rows);
            }
        }
        // The id is not in a file name: the log was renamed by hand.
        if !without_file.is_empty() {
            let query = Query { provider, all: true, ..Query::default() };
            let named = self.list(&query, budget).rows.into_iter();
            rows.extend(named.filter(|row| without_file.contains(&row.id.as_str())));
        }
        rows
    }

    pub(super) fn sources(&self, provider: Option<Provider>) -> Vec<Source> {
        let wanted = self.roots.iter().filter(|(candidate, _)| provider.is_none_or(|it| it == *candidate));
        wanted.map(|(provider, root)| Source::new(provider, root.to_owned())).collect()
    }

    /// Uses the index for the `wanted` logs and reads the others; `files` are all logs.
    fn read_all(
        &self,
        source: &Source,
        files: &[LogFile],
        mut wanted: Vec<&LogFile>,
        with_unread: bool,
        budget: &Budget,
    ) -> Listing {
        // Most of the known agents are not installed.
        if wanted.is_empty() {
            return Listing::default();
        }
        wanted.sort_by(|a, b| (b.stamp.mtime_ns, &a.path).cmp(&(a.stamp.mtime_ns, &b.path)));
        let mut remembered = self.index.load(&source.root);
        let (mut rows, mut unknown, mut to_save) = (Vec::new(), Vec::new(), Vec::new());
        for file in wanted {
            match remembered.remove(&file.path) {
                Some((stamp, row)) if stamp == file.stamp => rows.push(row),
                _ => unknown.push(file),
            }
        }
        let mut unread = 0;
        for (file, row) in unknown.iter().zip(read_unknown(source, files, &unknown, budget)) {
            match row {
                Some(row) => {
                    rows.push(row.clone());
                    to_save.push((file.stamp, row));
                }
                None => {
                    unread += 1;
                    rows.extend(with_unread.then(|| file.unread(source.provider)));
                }
            }
        }
        if !to_save.is_empty() {
            self.index.save(to_save);
        }
        // Names are stored outside of the logs and may change independently.
        let names = source.format.names(&source.root);
        for row in &mut rows {
            if let Some(name) = names.get(&row.id) {
                row.title = Some(name.clone());
            }
        }
        self.retain_own(&mut rows);
        Listing { rows, unread, timed_out: budget.timed_out() && unread > 0, ..Listing::default() }
    }
}

/// Drops sessions that ran outside of `workspace`, or in an unknown directory.
fn retain_of(workspace: &Path, rows: &mut Vec<Transcript>) {
    let mut scope = WorktreeScope::of(workspace);
    rows.retain(|row| is_of(&mut scope, row));
}

/// Returns whether a session ran in the workspace, or may have.
pub(super) fn is_of(scope: &mut WorktreeScope, row: &Transcript) -> bool {
    match &row.cwd {
        Some(cwd) => scope.holds(cwd),
        None => {
            let format = formats::of(row.provider);
            scope.folders().iter().any(|folder| format.may_have_run_in(&row.file_path, folder))
        }
    }
}

/// Returns the newest log whose name contains `id`, otherwise the newest if all with that id prefix are one session.
fn fitting<'a>(id: &str, files: impl Iterator<Item = &'a LogFile> + Clone) -> Option<&'a LogFile> {
    let exact = files.clone().filter(|file| file.id == id).max_by_key(|file| file.stamp.mtime_ns);
    if exact.is_some() || id.len() < limits::ID_PREFIX {
        return exact;
    }
    let beginning = files.filter(|file| file.id.starts_with(id));
    let newest = beginning.clone().max_by_key(|file| file.stamp.mtime_ns)?;
    beginning.map(|file| &file.id).all(|other| *other == newest.id).then_some(newest)
}

/// Reads uncached logs on a few threads, newest first, until the budget is spent.
fn read_unknown(
    source: &Source,
    all: &[LogFile],
    unknown: &[&LogFile],
    budget: &Budget,
) -> Vec<Option<Transcript>> {
    let by_id: OnceLock<HashMap<&str, &PathBuf>> = OnceLock::new();
    let locate = |id: &str| {
        let by_id = by_id.get_or_init(|| all.iter().map(|file| (file.id.as_str(), &file.path)).collect());
        by_id.get(id).map(|path| (*path).clone())
    };
    let summarise = |(): &mut (), at: usize| {
        let row = source.format.summarise(unknown[at], &locate, budget).row;
        // A log cut by the deadline must not be cached.
        (!budget.spent()).then_some(row)
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(limits::LIST_THREADS);
    parallel::map(unknown.len(), threads, || !budget.spent(), || (), summarise)
}
