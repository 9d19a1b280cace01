//! All history on this machine, of one workspace, or as of the start of a run; without the sessions that the user has
//! excluded.

use super::{
    format::FormatSpec,
    formats,
    kept::KeptLogs,
    listing_cache::{ListingCache, MemoryListingCache},
    moved::MovedFolders,
    prompts::PromptFiles,
    roots::HistoryRoots,
    search_text::word_index::WordIndex,
    settings::{ExcludedSessions, ExclusionCheck, Exclusions},
    transcript::{Provider, Transcript},
};
use openagents_core::{budget::Budget, git::WorktreeScope};
use parking_lot::{Mutex, RwLock};
use std::{
    io,
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

#[derive(Debug, Clone)]
pub struct History {
    pub(super) roots: HistoryRoots,
    pub(super) cache: Arc<dyn ListingCache>,
    /// Finds words without reading logs.
    pub(super) words: Option<Arc<dyn WordIndex>>,
    /// Copies of logs that no longer exist.
    pub(super) kept: Option<Arc<dyn KeptLogs>>,
    pub(super) prompts: Arc<PromptFiles>,
    /// Shared by all clones: a change applies to each.
    pub(super) excluded: Arc<Exclusions>,
    /// Shared in the same way.
    moved: Arc<RwLock<MovedFolders>>,
    limit: Option<Arc<WorkspaceLimit>>,
    /// In a snapshot: all sessions of the first complete listing.
    pub(super) listed: Option<OnceLock<Vec<Transcript>>>,
}

impl History {
    /// Reads `roots`; `cache` holds parsed logs.
    pub fn new(roots: HistoryRoots, cache: Arc<dyn ListingCache>) -> Self {
        Self {
            roots,
            cache,
            words: None,
            kept: None,
            prompts: Arc::default(),
            excluded: Arc::default(),
            moved: Arc::default(),
            limit: None,
            listed: None,
        }
    }

    /// Looks up words in `words` rather than in the logs that it covers.
    pub fn with_words(self, words: Arc<dyn WordIndex>) -> Self {
        Self { words: Some(words), ..self }
    }

    /// Reads the kept copies of logs that no longer exist.
    pub(crate) fn with_kept(self, kept: Arc<dyn KeptLogs>) -> Self {
        Self { kept: Some(kept), ..self }
    }

    pub fn exclude(&self, excluded: ExcludedSessions) {
        self.excluded.set(excluded);
    }

    /// Returns the excluded sessions, with the folders that were seen since [`History::exclude`].
    pub fn excluded(&self) -> ExcludedSessions {
        self.excluded.get()
    }

    /// Takes sessions that ran in these folders for sessions of the folders to which they were moved.
    pub fn follow_moved(&self, moved: MovedFolders) {
        *self.moved.write() = moved;
    }

    /// Returns the working directory of a session whose folder was moved since; `None` for any other. Blocks.
    pub fn former_folder(&self, agent: &str, id: &str, budget: &Budget) -> Option<PathBuf> {
        if self.moved.read().is_empty() {
            return None;
        }
        let row = self.find(id, Provider::parse(agent), budget)?;
        row.moved_to.and(row.cwd)
    }

    /// Returns whether sessions that ran in a folder are excluded. Blocks.
    pub fn excludes_folder(&self, folder: &Path) -> bool {
        self.exclusions().holds_folder(folder)
    }

    /// Resolves the excluded and the moved folders as they are now. Blocks.
    pub(super) fn exclusions(&self) -> ExclusionCheck<'_> {
        self.excluded.check(&self.moved.read())
    }

    /// Sets where sessions belong whose folders were moved.
    pub(super) fn follow(&self, rows: &mut [Transcript]) {
        let moved = self.moved.read().in_effect();
        for row in rows {
            row.moved_to = row.cwd.as_deref().and_then(|cwd| moved.find(cwd));
        }
    }

    /// Completes a row that was stored with what is not stored in it.
    pub(crate) fn complete(&self, row: &mut Transcript) {
        self.follow(std::slice::from_mut(row));
        row.gone = self.gone_log(row);
    }

    /// Returns the folders of the agents.
    pub fn roots(&self) -> &HistoryRoots {
        &self.roots
    }

    /// Returns the folders in which sessions change, and whether everything below them changes too. They need not
    /// exist.
    pub fn folders(&self) -> Vec<(PathBuf, bool)> {
        let folders = |source: Source| {
            let folder = move |name: &&str| match *name {
                "" => (source.root.clone(), false),
                name => (source.root.join(name), true),
            };
            source.format.watched.iter().map(folder).collect::<Vec<_>>()
        };
        self.sources(None).into_iter().flat_map(folders).collect()
    }

    pub(super) fn excludes(&self, provider: Provider) -> bool {
        self.excluded.has_agent(provider)
    }

    /// Returns a history without sessions.
    pub fn empty() -> Self {
        Self::new(HistoryRoots::default(), Arc::new(MemoryListingCache::default()))
    }

    /// Returns the history for one run: the first complete listing is reused, so that later ones are cheap and
    /// consistent.
    pub fn snapshot(&self) -> Self {
        Self { listed: Some(OnceLock::new()), ..self.clone() }
    }

    /// Returns the history limited to one workspace: sessions that ran in `workspace` or in another worktree of its
    /// repository. Other sessions are not listed, found by id, searched or read; neither are those with an unknown
    /// directory. A limit that the history already has still applies.
    pub fn of_workspace(&self, workspace: &Path) -> Self {
        let outer = self.limit.clone();
        let limit = WorkspaceLimit { workspace: workspace.to_owned(), outer, scope: OnceLock::new() };
        Self { limit: Some(Arc::new(limit)), listed: None, ..self.clone() }
    }

    pub fn is_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Drops the sessions that this history does not contain. Blocks.
    pub fn retain_own(&self, rows: &mut Vec<Transcript>) {
        let mut excluded = self.exclusions();
        rows.retain(|row| !excluded.holds(row) && self.limit.as_ref().is_none_or(|limit| limit.holds(row)));
    }

    /// Returns whether it contains a session that was found by other means.
    pub fn holds(&self, transcript: &Transcript) -> bool {
        self.check(transcript).is_ok()
    }

    /// Fails if this history does not contain `transcript`, which may come from another one.
    pub(super) fn check(&self, transcript: &Transcript) -> io::Result<()> {
        let why = match &self.limit {
            Some(limit) if !limit.holds(transcript) => "did not run in this workspace",
            _ if self.exclusions().holds(transcript) => "is excluded in the settings",
            _ => return Ok(()),
        };
        Err(io::Error::new(io::ErrorKind::NotFound, format!("session {} {why}", transcript.id)))
    }
}

/// One workspace. Its worktrees are read once, and each directory is looked up once.
#[derive(Debug)]
struct WorkspaceLimit {
    workspace: PathBuf,
    outer: Option<Arc<WorkspaceLimit>>,
    scope: OnceLock<Mutex<WorktreeScope>>,
}

impl WorkspaceLimit {
    fn holds(&self, transcript: &Transcript) -> bool {
        // A relative directory would be resolved against the one of this process.
        let Some(cwd) = transcript.folder().filter(|cwd| cwd.is_absolute()) else { return false };
        let scope = self.scope.get_or_init(|| Mutex::new(WorktreeScope::new(&self.workspace)));
        scope.lock().holds(cwd) && self.outer.as_ref().is_none_or(|outer| outer.holds(transcript))
    }
}

#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) provider: Provider,
    pub(crate) root: PathBuf,
    pub(crate) format: &'static FormatSpec,
}

impl Source {
    pub(crate) fn new(provider: Provider, root: PathBuf) -> Self {
        Self { provider, root, format: formats::spec(provider) }
    }
}
