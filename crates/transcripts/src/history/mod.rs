//! The logs of other agents on this machine, read-only.
//!
//! Each foreign format is a folder in `formats`. Readers never fail on a bad line: they skip and
//! count it. Nothing is ever written to these folders.

mod digest;
mod forget;
mod format;
mod formats;
mod gone;
mod intent;
mod kept;
mod list;
mod listing_cache;
mod log;
mod logs;
mod moved;
mod open_process;
mod part;
mod prompts;
mod read;
mod repository;
mod requests;
mod roots;
mod search;
mod search_text;
mod settings;
mod sqlite;
mod summary;
mod transcript;
mod usage;
mod usage_logs;

pub use crate::history::listing_cache::{
    CachedTranscripts, FileStamp, ListingCache, MemoryListingCache, READER_VERSION,
};
pub use crate::history::log::action::{Action, Outcome, Task, TaskChange};
pub use crate::history::log::event::{Event, EventKind, TitleRank, TouchedFile};
pub use crate::history::log::images::TranscriptImage;
pub use crate::history::search_text::index_words::{QueryWord, index_words, query_words};
pub use crate::history::search_text::query::{
    PatternKind, SearchMatch, SearchQuery, SearchResult, Unsearched,
};
pub use crate::history::search_text::typed::{SearchText, TextFit};
pub use crate::history::search_text::word_index::{
    IndexedLines, IndexedState, IndexedText, SessionKey, WordIndex,
};
pub use crate::history::{
    digest::{Fact, Facts, Ran},
    list::RecentWorkspace,
};
pub use digest::Digest;
pub(crate) use formats::spec as format_of;
pub use intent::{Relative, choose, sentence};
pub(crate) use kept::{KeptLog, KeptLogs, ListedLog, ListedLogs, Unpacked, below, below_root};
pub(crate) use log::log_file::LogFile;
pub use logs::History;
pub use moved::MovedFolders;
pub use open_process::OpenProcess;
pub use part::{Part, TranscriptPart};
pub use read::{ReadEnd, Span};
pub use repository::RepositoryTrace;
pub use requests::{FoundUsage, RequestUsage, UsageFlags, UsageLimit};
pub use roots::HistoryRoots;
pub use search::WordLines;
pub use settings::{ExcludedSessions, HISTORY_SETTINGS, HistorySettings};
pub(crate) use sqlite::read_database as read_agent_database;
pub use transcript::{Gone, GoneReason, Listing, Provider, Query, Transcript, Unknown};
pub use usage_logs::{ReadUpTo, ReadUsage, UsageExclusion, UsageLog};
