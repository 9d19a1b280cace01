//! The logs of other agents on this machine, read-only.
//!
//! Each foreign format is a folder that implements `source::Source`. Readers never fail on a bad line: they skip and
//! count it. Nothing is ever written to these folders.

mod action;
mod claude;
mod codex;
mod digest;
mod event;
mod facts;
mod file;
mod index;
mod intent;
mod json;
mod lines;
mod list;
mod noise;
mod pattern;
mod read;
mod roots;
mod search;
mod source;
mod title;
mod transcript;
mod workspaces;
mod worktree;

pub use action::{Action, Outcome, Task, TaskChange};
pub use event::{Event, EventKind, TitleRank, TouchedFile};
pub use index::{FileStamp, MemoryIndex, TranscriptIndex};
pub use read::{ReadEnd, Span};
pub use roots::HistoryRoots;
pub use search::{SearchMatch, SearchQuery, SearchResult};
pub use transcript::{Listing, Provider, Query, Transcript};
pub use workspaces::RecentWorkspace;

pub(crate) use digest::{Digest, Prompt};
pub(crate) use facts::{Fact, Facts};
pub(crate) use intent::{choose, of_title, sentence};
pub(crate) use worktree::{WorktreeScope, last_commit_or_checkout, real};

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicUsize},
};

/// Version of the summary format. A persistent index stores it and drops its rows when it changes.
pub const READER_VERSION: u32 = 2;

/// All history on this machine.
#[derive(Debug)]
pub struct History {
    roots: HistoryRoots,
    index: Arc<dyn TranscriptIndex>,
    /// Limits the history to sessions of this directory.
    workspace: Option<PathBuf>,
    /// Number of logs parsed because the index did not have them.
    parsed: Arc<AtomicUsize>,
    /// In a snapshot: all sessions of the first complete listing.
    listed: Option<OnceLock<Vec<Transcript>>>,
}

impl History {
    /// Reads `roots`; `index` caches parsed logs.
    pub fn new(roots: HistoryRoots, index: Arc<dyn TranscriptIndex>) -> Self {
        Self { roots, index, workspace: None, parsed: Arc::default(), listed: None }
    }

    /// Returns a history without sessions.
    pub fn empty() -> Self {
        Self::new(HistoryRoots::default(), Arc::new(MemoryIndex::default()))
    }

    /// Returns the history for one run: the first complete listing is reused, so that later ones are cheap and
    /// consistent.
    pub fn snapshot(&self) -> Self {
        Self {
            roots: self.roots.clone(),
            index: self.index.clone(),
            workspace: self.workspace.clone(),
            parsed: self.parsed.clone(),
            listed: Some(OnceLock::new()),
        }
    }

    /// Returns the history limited to one workspace: sessions that ran in `workspace` or in another worktree of its
    /// repository. Other sessions are not listed, found by id or searched; neither are those with an unknown directory.
    pub fn of_workspace(&self, workspace: &Path) -> Self {
        Self {
            roots: self.roots.clone(),
            index: self.index.clone(),
            workspace: Some(workspace.to_owned()),
            parsed: self.parsed.clone(),
            listed: None,
        }
    }

    /// Returns the number of logs parsed because the index did not have their current state.
    pub fn parsed(&self) -> usize {
        self.parsed.load(std::sync::atomic::Ordering::Relaxed)
    }
}
