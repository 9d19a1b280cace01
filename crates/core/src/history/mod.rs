//! The logs that other agents left on this machine, read-only.
//!
//! One foreign format is one folder behind `source::Source`. Readers never fail on a bad line: they skip it,
//! count it and say so. Nothing is ever written into these folders.

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
pub(crate) use worktree::{Territory, last_commit_or_checkout, real};

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock, atomic::AtomicUsize},
};

/// Changes whenever the same log is summed up differently; an index that outlives the process keeps it and forgets
/// its rows when it differs.
pub const READER_VERSION: u32 = 2;

/// All history on this machine.
#[derive(Debug)]
pub struct History {
    roots: HistoryRoots,
    index: Arc<dyn TranscriptIndex>,
    /// Only sessions of this directory exist.
    workspace: Option<PathBuf>,
    /// Logs read so far that the index did not know.
    parsed: Arc<AtomicUsize>,
    /// In a snapshot: every session, from the first listing that was complete.
    listed: Option<OnceLock<Vec<Transcript>>>,
}

impl History {
    /// Looks at `roots`; `index` remembers what was parsed.
    pub fn new(roots: HistoryRoots, index: Arc<dyn TranscriptIndex>) -> Self {
        Self { roots, index, workspace: None, parsed: Arc::default(), listed: None }
    }

    /// A history without a single session.
    pub fn empty() -> Self {
        Self::new(HistoryRoots::default(), Arc::new(MemoryIndex::default()))
    }

    /// Returns the same history as it looks during one run: the first complete listing serves all later ones, so that
    /// they cost no look at the folders and agree with each other.
    pub fn snapshot(&self) -> Self {
        Self {
            roots: self.roots.clone(),
            index: self.index.clone(),
            workspace: self.workspace.clone(),
            parsed: self.parsed.clone(),
            listed: Some(OnceLock::new()),
        }
    }

    /// Returns the same history with the sessions of one workspace alone: those that ran in `workspace` or in another
    /// worktree of its repository. No other session is listed, found by its id or searched. A session whose directory
    /// is unknown is left out.
    pub fn of_workspace(&self, workspace: &Path) -> Self {
        Self {
            roots: self.roots.clone(),
            index: self.index.clone(),
            workspace: Some(workspace.to_owned()),
            parsed: self.parsed.clone(),
            listed: None,
        }
    }

    /// Returns how many logs had to be read because the index did not know them as they are now.
    pub fn parsed(&self) -> usize {
        self.parsed.load(std::sync::atomic::Ordering::Relaxed)
    }
}
