//! The logs that other agents left on this machine, read-only.
//!
//! One foreign format is one folder behind [`source::Source`]. Readers never fail on a bad line: they skip it,
//! count it and say so. Nothing is ever written into these folders.

mod index;
mod source;
mod transcript;

pub use index::{FileStamp, MemoryIndex, TranscriptIndex};
pub use transcript::{Listing, Provider, Query, Transcript};

use std::{path::PathBuf, sync::Arc};

/// Where the agents keep their logs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HistoryRoots {
    /// `$CODEX_HOME`, else `~/.codex`.
    pub codex: Option<PathBuf>,
    /// `$CLAUDE_CONFIG_DIR`, else `~/.claude`.
    pub claude: Option<PathBuf>,
}

/// All history on this machine.
#[derive(Debug)]
pub struct History {
    roots: HistoryRoots,
    index: Arc<dyn TranscriptIndex>,
}

impl History {
    /// Looks at `roots`; `index` remembers what was parsed.
    pub fn new(roots: HistoryRoots, index: Arc<dyn TranscriptIndex>) -> Self {
        Self { roots, index }
    }

    /// A history without a single session.
    pub fn empty() -> Self {
        Self::new(HistoryRoots::default(), Arc::new(MemoryIndex::default()))
    }
}
