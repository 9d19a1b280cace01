//! What a search looks for, and what it finds: the typed text, its words, and the matches.

pub(crate) mod index_words;
pub(crate) mod query;
pub(crate) mod raw_filter;
pub(crate) mod results;
pub(crate) mod target;
pub(crate) mod typed;
pub(crate) mod word_index;
