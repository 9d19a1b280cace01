//! The full-text index of other agents' sessions, `history.db` in the data folder.
//!
//! Shared by processes, like [`crate::cache::TranscriptCache`]. A damaged or outdated file is replaced and refilled, so
//! opening it does not fail. It records which lines contain which words, and where the texts of these lines are.

#[cfg(test)]
mod agents_tests;
mod build;
mod index;
mod indexer;
mod news;
mod passages;
mod search;
#[cfg(test)]
mod tests;
mod texts;
#[cfg(test)]
mod typed_tests;

pub use build::IndexProgress;
pub use index::{HistoryIndex, IndexStatus, NotIndexed};
pub use indexer::{Followed, ForgetError, HistoryIndexer, KeptTitles, SessionCounts};
pub use news::HistoryNews;
pub use search::{IndexedMatches, Passage};
