//! The logs of other agents on this machine, read-only.
//!
//! Each foreign format is a folder in `formats`. Readers never fail on a bad line: they skip and
//! count it. Nothing is ever written to these folders.

mod action;
mod decoder;
mod digest;
mod environment;
mod event;
mod excerpt;
mod facts;
mod file;
mod find_lines;
mod format;
mod formats;
mod found;
mod git_index;
mod images;
mod index;
mod indexed;
mod intent;
mod json;
mod lines;
mod list;
mod log_file;
mod logs;
mod noise;
mod part;
mod pattern;
mod query;
mod raw_filter;
mod read;
mod roots;
mod search;
mod search_index;
mod settings;
mod source;
mod sqlite;
mod summary;
mod title;
mod tokens;
mod transcript;
mod typed;
mod usage;
mod wanted;
mod word_index;
mod workspaces;
mod worktree;

pub use action::{Action, Outcome, Task, TaskChange};
pub use event::{Event, EventKind, TitleRank, TouchedFile};
pub use images::TranscriptImage;
pub use index::{CachedTranscripts, FileStamp, MemoryIndex, READER_VERSION, TranscriptIndex};
pub use indexed::{QueryWord, index_words, query_words};
pub use logs::History;
pub use part::{Part, TranscriptPart};
pub use query::{PatternKind, SearchMatch, SearchQuery, SearchResult, Unsearched};
pub use read::{ReadEnd, Span};
pub use roots::HistoryRoots;
pub use settings::{ExcludedSessions, HISTORY_SETTINGS, HistorySettings};
pub use tokens::TokenUsage;
pub use transcript::{Listing, Provider, Query, Transcript};
pub use typed::{SearchText, TextFit};
pub use usage::UsageTotal;
pub use word_index::{IndexedLines, IndexedState, IndexedText, SessionKey, WordIndex};
pub use workspaces::RecentWorkspace;

pub(crate) use digest::Digest;
pub(crate) use facts::Fact;
pub(crate) use git_index::may_track;
pub(crate) use intent::{choose, sentence};
pub(crate) use worktree::{WorktreeScope, last_commit_or_checkout, real, top_of};
