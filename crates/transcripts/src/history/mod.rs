//! The logs of other agents on this machine, read-only.
//!
//! Each foreign format is a folder in `formats`. Readers never fail on a bad line: they skip and
//! count it. Nothing is ever written to these folders.

mod action;
mod decoder;
mod digest;
mod event;
mod forget;
mod format;
mod formats;
mod found;
mod images;
mod index;
mod indexed;
mod intent;
mod joined;
mod json;
mod known;
mod lines;
mod list;
mod log_file;
mod logs;
mod part;
mod query;
mod raw_filter;
mod read;
mod roots;
mod search;
mod settings;
mod sqlite;
mod summary;
mod taken_back;
mod title;
mod transcript;
mod tree;
mod typed;
mod usage;
mod wanted;
mod word_index;

pub use crate::history::{
    digest::{Fact, Facts, Ran},
    list::RecentWorkspace,
    transcript::TokenUsage,
};
pub use action::{Action, Outcome, Task, TaskChange};
pub use digest::Digest;
pub use event::{Event, EventKind, TitleRank, TouchedFile};
pub use images::TranscriptImage;
pub use index::{CachedTranscripts, FileStamp, MemoryIndex, READER_VERSION, TranscriptIndex};
pub use indexed::{QueryWord, index_words, query_words};
pub use intent::{Relative, choose, sentence};
pub use logs::History;
pub use part::{Part, TranscriptPart};
pub use query::{PatternKind, SearchMatch, SearchQuery, SearchResult, Unsearched};
pub use read::{ReadEnd, Span};
pub use roots::HistoryRoots;
pub use search::WordLines;
pub use settings::{ExcludedSessions, HISTORY_SETTINGS, HistorySettings};
pub use transcript::{Listing, Provider, Query, Transcript, Unknown};
pub use typed::{SearchText, TextFit};
pub use usage::UsageTotal;
pub use word_index::{IndexedLines, IndexedState, IndexedText, SessionKey, WordIndex};
