//! The full-text index of other agents' sessions, `history.db` in the data folder.
//!
//! It belongs to no process, like [`crate::TranscriptCache`], and nothing in it is worth an error: a damaged file, or one of
//! another version, is replaced by an empty one and filled again. It holds no text, only which words are in which lines.

mod build;
mod index;
mod indexer;
mod news;
mod schema;
mod search;
#[cfg(test)]
mod tests;
mod watch;

pub use build::IndexProgress;
pub use index::{HistoryIndex, IndexStatus};
pub use indexer::HistoryIndexer;
pub use news::HistoryNews;
pub use search::{IndexedMatches, Passage};
