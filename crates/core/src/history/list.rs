//! Lists transcripts: finds the logs, takes what the index remembers, reads the rest, newest first.

use super::{
    History, Listing, Provider, Query, Transcript,
    claude::Claude,
    codex::Codex,
    source::{LogFile, Source},
    worktree::Territory,
};
use crate::{CancellationToken, tool::Budget};
use std::{
    collections::{HashMap, HashSet},
    path::PathBuf,
    sync::{
        Mutex, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

/// More threads do not make a disk faster.
const MAX_THREADS: usize = 4;
/// An id is looked for no longer than that.
const FIND_TIME: Duration = Duration::from_secs(1);
/// A shorter beginning of an id is too likely to fit by chance.
const MIN_ID_PREFIX: usize = 8;

impl History {
    /// Lists transcripts, newest first. When the budget is spent, what is left has no titles; rows of which nothing is
    /// known are left out where a workspace is asked for.
    pub fn list(&self, query: &Query, budget: &Budget) -> Listing {
        let mut rows = Vec::new();
        let mut timed_out = false;
        for source in self.sources(query.provider) {
            let mut found = self.rows(source.as_ref(), query.since, budget);
            timed_out |= found.cut_short;
            rows.append(&mut found.rows);
        }
        newest_first(&mut rows);
        // A resumed or restored log may be there twice; the newest is the session.
        let mut seen = HashSet::new();
        rows.retain(|row| seen.insert((row.provider, row.id.clone())));
        if !query.all {
            rows.retain(|row| !row.hidden && !row.subagent);
        }
        if let Some(workspace) = &query.workspace {
            let mut territory = Territory::of(workspace);
            rows.retain(|row| row.cwd.as_deref().is_some_and(|cwd| territory.holds(cwd)));
        }
        let total = rows.len();
        let truncated = query.limit > 0 && total > query.limit;
        if truncated {
            rows.truncate(query.limit);
        }
        Listing { rows, total, truncated, timed_out }
    }

    /// Finds one session by its id, or by a beginning of it that fits no other; hidden ones too.
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
        let id = id.trim();
        let mut fitting = Vec::new();
        for source in self.sources(provider) {
            for file in source.discover(budget) {
                if file.id == id || (id.len() >= MIN_ID_PREFIX && file.id.starts_with(id)) {
                    fitting.push((source.provider(), file));
                }
            }
        }
        let exact = fitting.iter().filter(|(_, file)| file.id == id);
        let newest = exact.max_by_key(|(_, file)| file.stamp.mtime_ns).cloned();
        let (provider, file) = match (newest, fitting.as_slice()) {
            (Some(newest), _) => newest,
            (None, [(first, file), rest @ ..]) if rest.iter().all(|(_, other)| other.id == file.id) => {
                (*first, file.clone())
            }
            // An id that no file's name holds: of a log that was named by hand.
            _ => return self.find_inside(id, provider, budget),
        };
        let source = self.sources(Some(provider)).into_iter().next()?;
        self.read_all(source.as_ref(), vec![file], budget).rows.pop()
    }

    fn find_inside(&self, id: &str, provider: Option<Provider>, budget: &Budget) -> Option<Transcript> {
        let query = Query { provider, all: true, ..Query::default() };
        self.list(&query, budget).rows.into_iter().find(|row| row.id == id)
    }

    /// Returns the readers of the agents that are asked for.
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

    fn rows(&self, source: &dyn Source, since: Option<i64>, budget: &Budget) -> Rows {
        let mut files = source.discover(budget);
        let discovery_cut = budget.timed_out();
        if let Some(since) = since {
            files.retain(|file| file.updated_at() >= since);
        }
        let mut rows = self.read_all(source, files, budget);
        rows.cut_short |= discovery_cut;
        rows
    }

    fn read_all(&self, source: &dyn Source, mut files: Vec<LogFile>, budget: &Budget) -> Rows {
        files.sort_by(|a, b| b.stamp.mtime_ns.cmp(&a.stamp.mtime_ns).then_with(|| a.path.cmp(&b.path)));
        let mut remembered = self.index.load(source.root());
        let mut rows = Vec::with_capacity(files.len());
        let mut unknown = Vec::new();
        for file in &files {
            match remembered.remove(&file.path) {
                Some((stamp, row)) if stamp == file.stamp => rows.push(row),
                _ => unknown.push(file),
            }
        }
        let fresh = read_unknown(source, &files, &unknown, budget);
        let cut_short = budget.timed_out() && unknown.len() > fresh.iter().flatten().count();
        let mut to_save = Vec::new();
        for (file, row) in unknown.iter().zip(fresh) {
            match row {
                Some(row) => {
                    to_save.push((file.stamp, row.clone()));
                    rows.push(row);
                }
                None => rows.push(file.unread(source.provider())),
            }
        }
        self.parsed.fetch_add(to_save.len(), Ordering::Relaxed);
        if !to_save.is_empty() {
            self.index.save(to_save);
        }
        // Names live outside of the logs, so a name may change while its log does not.
        let names = source.names();
        for row in &mut rows {
            if let Some(name) = names.get(&row.id) {
                row.title = Some(name.clone());
            }
        }
        Rows { rows, cut_short }
    }
}

struct Rows {
    rows: Vec<Transcript>,
    cut_short: bool,
}

/// Reads the logs that the index does not know on a few threads, newest first; `None` for what was not reached.
fn read_unknown(
    source: &dyn Source,
    all: &[LogFile],
    unknown: &[&LogFile],
    budget: &Budget,
) -> Vec<Option<Transcript>> {
    if unknown.is_empty() {
        return vec![];
    }
    let by_id: OnceLock<HashMap<&str, &PathBuf>> = OnceLock::new();
    let locate = |id: &str| {
        let by_id = by_id.get_or_init(|| all.iter().map(|file| (file.id.as_str(), &file.path)).collect());
        by_id.get(id).map(|path| (*path).clone())
    };
    let next = AtomicUsize::new(0);
    let done = Mutex::new(vec![None; unknown.len()]);
    let work = || {
        let mut mine = Vec::new();
        while !budget.spent() {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = unknown.get(at) else { break };
            let row = source.summarise(file, &locate, budget);
            // A log that the deadline cut is not known well enough to be remembered.
            if budget.spent() {
                break;
            }
            mine.push((at, row));
        }
        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
        for (at, row) in mine {
            done[at] = Some(row);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS).min(unknown.len());
    if threads == 1 {
        work();
    } else {
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn newest_first(rows: &mut [Transcript]) {
    rows.sort_by(|a, b| {
        b.updated_at
            .cmp(&a.updated_at)
            .then_with(|| a.provider.cmp(&b.provider))
            .then_with(|| a.id.cmp(&b.id))
    });
}
