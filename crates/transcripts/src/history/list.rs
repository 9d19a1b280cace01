//! Lists transcripts, newest first: finds the logs, takes cached rows, and reads the other logs.

use super::{
    formats,
    kept::KeptLog,
    log::{known, log_file::LogFile},
    logs::{History, Source},
    transcript::{Listing, Provider, Query, Transcript},
};
use crate::limits;
use globset::{Glob, GlobSet, GlobSetBuilder};
use ignore::WalkBuilder;
use openagents_core::{
    budget::Budget,
    git::{self, WorktreeScope},
    parallel,
};
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
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
            retain_workspace(workspace, rows);
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
            let mut rows = listed.iter().filter(wanted).cloned().collect();
            // The user may have excluded some in the meantime.
            self.retain_own(&mut rows);
            return Listing { rows, ..Listing::default() };
        }
        let found = self.scan_logs(query, budget);
        let is_complete =
            query.provider.is_none() && query.since.is_none() && found.unread == 0 && !found.timed_out;
        if let Some(listed) = self.listed.as_ref().filter(|_| is_complete && !budget.spent()) {
            // Another thread may have been faster; its rows are equivalent.
            let _ = listed.set(found.rows.clone());
        }
        found
    }

    fn scan_logs(&self, query: &Query, budget: &Budget) -> Listing {
        let folders = self.discover(query.provider, budget);
        self.rows_of(&folders, query, budget)
    }

    /// Returns the sessions of logs that were found, like [`History::rows`].
    pub(super) fn rows_of(&self, folders: &[Folder], query: &Query, budget: &Budget) -> Listing {
        let timed_out = budget.timed_out();
        if *query == (Query { all: query.all, read_time: query.read_time, ..Query::default() })
            && !budget.spent()
        {
            self.forget_vanished(folders);
        }
        let all =
            folders.iter().flat_map(|folder| folder.files.iter().map(move |file| Found { folder, file }));
        let budget = query.read_time.map_or_else(|| budget.clone(), |time| budget.sooner(time));
        let mut found = self.read_all(&all.collect::<Vec<_>>(), query.all, &budget);
        found.timed_out |= timed_out;
        found.rows.sort_by(|a, b| {
            let order = |row: &Transcript| (row.archived, Reverse(row.changed_at));
            let newest = b.updated_at.cmp(&a.updated_at);
            newest.then_with(|| (a.provider, &a.id, order(a)).cmp(&(b.provider, &b.id, order(b))))
        });
        // A restored or archived log may exist twice; the one with the newest record is the session.
        let mut seen = HashSet::new();
        found.rows.retain(|row| seen.insert((row.provider, row.id.clone())));
        name_originals(&mut found.rows);
        // A file may be newer than its content.
        found.rows.retain(|row| query.since.is_none_or(|since| row.updated_at >= since));
        found
    }

    /// Finds a session by its id or a unique prefix, including hidden ones.
    pub fn find(&self, id: &str, provider: Option<Provider>, budget: &Budget) -> Option<Transcript> {
        self.find_each(&[id], provider, budget).pop()
    }

    /// Finds several sessions like [`History::find`] with a single scan of the folders; without duplicates, unordered.
    pub fn find_each(&self, ids: &[&str], provider: Option<Provider>, budget: &Budget) -> Vec<Transcript> {
        let folders = self.discover(provider, budget);
        let (mut wanted, mut without_file) = (Vec::new(), Vec::new());
        for id in ids.iter().map(|id| id.trim()) {
            match fitting(id, folders.iter().flat_map(|folder| &folder.files)) {
                Some(file) => wanted.push(file),
                None => without_file.push(id),
            }
        }
        let all =
            folders.iter().flat_map(|folder| folder.files.iter().map(move |file| Found { folder, file }));
        let wanted: Vec<_> = all.filter(|found| wanted.contains(&found.file)).collect();
        let mut rows = self.read_all(&wanted, true, budget).rows;
        // The id is not in a file name: the log was renamed by hand.
        if !without_file.is_empty() {
            let query = Query { provider, all: true, ..Query::default() };
            let named = self.list(&query, budget).rows.into_iter();
            rows.extend(named.filter(|row| without_file.contains(&row.id.as_str())));
        }
        rows
    }

    pub(super) fn sources(&self, provider: Option<Provider>) -> Vec<Source> {
        let wanted = self.roots.iter().filter(|(candidate, _)| {
            provider.is_none_or(|it| it == *candidate) && !self.excludes(*candidate)
        });
        wanted.map(|(provider, root)| Source::new(provider, root.to_owned())).collect()
    }

    /// Finds the logs of all agents in parallel: a database takes as long as thousands of files.
    pub(super) fn discover(&self, provider: Option<Provider>, budget: &Budget) -> Vec<Folder> {
        let sources = self.sources(provider);
        let discover = |(): &mut (), at: usize| {
            let Source { format, root, .. } = &sources[at];
            Some((format.discover)(root, budget))
        };
        let found = parallel::map(sources.len(), limits::LIST_THREADS, || true, || (), discover);
        let folder = |(source, files): (Source, Option<Vec<LogFile>>)| Folder {
            source,
            files: files.unwrap_or_default(),
            kept: HashMap::new(),
            prompts: HashMap::new(),
            by_id: OnceLock::new(),
        };
        let mut folders: Vec<_> = sources.into_iter().zip(found).map(folder).collect();
        // Logs that were not found in time are not gone.
        if !budget.spent() {
            self.add_kept(&mut folders);
            self.add_prompts(&mut folders);
        }
        folders
    }

    fn read_all(&self, wanted: &[Found<'_>], with_unread: bool, budget: &Budget) -> Listing {
        let mut listing = Listing::default();
        let folders: Vec<_> = wanted.chunk_by(|a, b| std::ptr::eq(a.folder, b.folder)).collect();
        let load = |(): &mut (), at: usize| Some(self.cache.load(&folders[at][0].folder.source.root));
        let remembered = parallel::map(folders.len(), limits::LIST_THREADS, || true, || (), load);
        let mut excluded = self.exclusions();
        let marks = if excluded.has_folders() { self.cache.marks() } else { Arc::default() };
        let mut unknown = Vec::new();
        for (logs, remembered) in folders.iter().zip(remembered) {
            let remembered = remembered.unwrap_or_default();
            for found in *logs {
                if let Some(log) = found.folder.kept.get(&found.file.path) {
                    let gone = Some(log.gone.unwrap_or_default());
                    listing.rows.push(Transcript { gone, ..log.row.clone() });
                    continue;
                }
                if let Some(row) = found.folder.prompts.get(&found.file.path) {
                    listing.rows.push(row.clone());
                    continue;
                }
                match remembered.get(found.file.path.as_os_str()) {
                    Some((stamp, row)) if *stamp == found.file.stamp => {
                        let changed_at = found.file.changed_at();
                        listing.rows.push(Transcript { size: stamp.size, changed_at, ..row.clone() });
                    }
                    // Excluded.
                    _ if !marks.is_empty() && marks.contains(&excluded.mark(found.file)) => {}
                    _ => unknown.push(*found),
                }
            }
        }
        unknown.sort_by(|a, b| {
            (b.file.stamp.mtime_ns, &a.file.path).cmp(&(a.file.stamp.mtime_ns, &b.file.path))
        });
        for part in unknown.chunks(limits::LIST_PART) {
            let (mut to_save, mut to_mark) = (Vec::new(), Vec::new());
            for (found, row) in part.iter().zip(read_unknown(part, budget)) {
                match row {
                    Some(row) if excluded.holds(&row) => to_mark.push(excluded.mark(found.file)),
                    Some(row) => {
                        listing.rows.push(row.clone());
                        to_save.push((found.file.stamp, row));
                    }
                    None => {
                        listing.unread += 1;
                        listing
                            .rows
                            .extend(with_unread.then(|| found.file.unread(found.folder.source.provider)));
                    }
                }
            }
            if !to_save.is_empty() {
                self.cache.save(to_save);
            }
            if !to_mark.is_empty() {
                self.cache.mark(&to_mark);
            }
        }
        // Names are stored outside the logs and may change independently.
        for logs in folders {
            let Source { provider, format, root } = &logs[0].folder.source;
            let names = (format.names)(root);
            for row in listing.rows.iter_mut().filter(|row| !names.is_empty() && row.provider == *provider) {
                if let Some(name) = names.get(&row.id).filter(|name| name.is_given || !row.named) {
                    row.title = Some(name.text.clone());
                    row.named = true;
                }
            }
        }
        self.follow(&mut listing.rows);
        self.retain_own(&mut listing.rows);
        listing.timed_out = budget.timed_out() && listing.unread > 0;
        listing
    }
}

/// An agent's folder, and the logs in it.
pub(super) struct Folder {
    pub(super) source: Source,
    /// Logs that exist, and those that are kept.
    pub(super) files: Vec<LogFile>,
    /// The kept ones among them, by path.
    pub(super) kept: HashMap<PathBuf, Arc<KeptLog>>,
    /// The rows of those of which only prompts are left, by path.
    pub(super) prompts: HashMap<PathBuf, Transcript>,
    by_id: OnceLock<HashMap<String, PathBuf>>,
}

impl Folder {
    fn locate(&self, id: &str) -> Option<PathBuf> {
        let by_id = || self.files.iter().map(|file| (file.id.clone(), file.path.clone())).collect();
        self.by_id.get_or_init(by_id).get(id).cloned()
    }
}

#[derive(Clone, Copy)]
struct Found<'a> {
    folder: &'a Folder,
    file: &'a LogFile,
}

/// Sets the session that each copy continues: copies share the first line of their original, which is the session that
/// ended first. Some copies name it themselves.
fn name_originals(rows: &mut [Transcript]) {
    let mut copies: HashMap<(Provider, u64), Vec<usize>> = HashMap::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.subagent) {
        if let Some(line) = row.first_line {
            copies.entry((row.provider, line)).or_default().push(at);
        }
    }
    for same in copies.into_values().filter(|same| same.len() > 1) {
        let ended = |at: &&usize| (rows[**at].updated_at, rows[**at].id.clone());
        let Some(&original) = same.iter().filter(|at| rows[**at].continues.is_none()).min_by_key(ended)
        else {
            continue;
        };
        let id = rows[original].id.clone();
        for at in same.into_iter().filter(|at| *at != original) {
            rows[at].continues.get_or_insert_with(|| id.clone());
        }
    }
}

fn retain_workspace(workspace: &Path, rows: &mut Vec<Transcript>) {
    let mut scope = WorktreeScope::new(workspace);
    rows.retain(|row| may_have_run_in(&mut scope, row));
}

/// Returns whether a session ran in the workspace, or may have.
pub(super) fn may_have_run_in(scope: &mut WorktreeScope, row: &Transcript) -> bool {
    match row.folder() {
        Some(cwd) => scope.holds(cwd),
        None => {
            let format = formats::spec(row.provider);
            scope.folders().iter().any(|folder| (format.may_have_run_in)(&row.file_path, folder))
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

/// Reads uncached logs on a few threads, in order, until the budget is spent.
fn read_unknown(unknown: &[Found<'_>], budget: &Budget) -> Vec<Option<Transcript>> {
    let summarise = |(): &mut (), at: usize| {
        let Found { folder, file } = unknown[at];
        let row = folder.source.format.summarise(file, &|id| folder.locate(id), budget).row;
        // A log cut by the deadline must not be cached.
        (!budget.spent()).then_some(row)
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(limits::LIST_THREADS);
    parallel::map(unknown.len(), threads, || !budget.spent(), || (), summarise)
}

/// A directory that agents worked in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecentWorkspace {
    /// The root of the enclosing repository, otherwise the directory itself; exists.
    pub path: PathBuf,
    /// The last component of the path.
    pub name: String,
    /// Last change of a session there, in milliseconds since the epoch.
    pub last_active_ms: i64,
    /// Number of sessions that the agent's own list shows.
    pub sessions: usize,
}

impl History {
    /// Lists existing directories, most recently used first; at most `limit`, 0 for no limit. Excludes `/` and the home
    /// folder.
    pub fn workspaces(&self, limit: usize, budget: &Budget) -> Vec<RecentWorkspace> {
        let listing = self.list(&Query::default(), budget);
        let home = std::env::home_dir().map(|home| git::real_path(&home));
        let mut tops: HashMap<PathBuf, Option<PathBuf>> = HashMap::new();
        let mut found: HashMap<PathBuf, RecentWorkspace> = HashMap::new();
        for row in listing.rows {
            let Some(cwd) = row.folder() else { continue };
            let top = tops.entry(cwd.to_owned()).or_insert_with_key(|cwd| workspace_of(cwd, home.as_deref()));
            let Some(path) = top else { continue };
            let workspace = found.entry(path.clone()).or_insert_with(|| RecentWorkspace {
                path: path.clone(),
                name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
                last_active_ms: row.updated_at,
                sessions: 0,
            });
            workspace.sessions += 1;
            workspace.last_active_ms = workspace.last_active_ms.max(row.updated_at);
        }
        let mut found: Vec<_> = found.into_values().collect();
        found.sort_by(|a, b| b.last_active_ms.cmp(&a.last_active_ms).then_with(|| a.path.cmp(&b.path)));
        if limit > 0 {
            found.truncate(limit);
        }
        found
    }
}

fn workspace_of(cwd: &Path, home: Option<&Path>) -> Option<PathBuf> {
    if !cwd.is_absolute() || !cwd.is_dir() {
        return None;
    }
    let real = git::real_path(cwd);
    let usable = |path: &PathBuf| path.parent().is_some() && home != Some(path.as_path());
    // A home folder under version control is not a project, but folders below it may be.
    git::repository_root(&real).filter(usable).or(Some(real)).filter(usable)
}

/// Maximum number of files that are checked below one folder.
const MAX_FILES: usize = 200_000;

impl History {
    /// Returns the number of unknown files of each kind among an agent's sessions. A kind is an extension, such as
    /// `*.bin`, or a file name; folders are not named, because they may be private. Reads no file. Blocks.
    pub fn unknown_files(&self, provider: Provider, budget: &Budget) -> BTreeMap<String, u64> {
        let beside = globs(known::files_beside(provider));
        let mut found = BTreeMap::new();
        for Source { format, root, .. } in self.sources(Some(provider)) {
            let files = (format.discover)(&root, budget).into_iter();
            let logs: HashSet<PathBuf> =
                files.flat_map(|file| file.earlier.into_iter().chain([file.path])).collect();
            for folder in format.watched.iter().filter(|folder| !folder.is_empty()) {
                let walk = WalkBuilder::new(root.join(folder)).standard_filters(false).build();
                let files = walk.filter_map(Result::ok).take_while(|_| !budget.spent()).take(MAX_FILES);
                for file in files.filter(|file| file.file_type().is_some_and(|kind| kind.is_file())) {
                    let path = file.path();
                    let is_known = logs.contains(path)
                        || path.strip_prefix(&root).is_ok_and(|inside| beside.is_match(inside));
                    if !is_known {
                        *found.entry(kind(path)).or_default() += 1;
                    }
                }
            }
        }
        found
    }
}

fn globs(patterns: &[String]) -> GlobSet {
    let mut globs = GlobSetBuilder::new();
    for glob in patterns.iter().filter_map(|pattern| Glob::new(pattern).ok()) {
        globs.add(glob);
    }
    globs.build().unwrap_or_default()
}

fn kind(path: &Path) -> String {
    match path.extension() {
        Some(extension) => format!("*.{}", extension.to_string_lossy()),
        None => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
    }
}
