//! Grounds answers in findings: the model gets the findings, and each of its citations is opened before it is shown.
//!
//! `findings → question → model → Filter → shown text`. A citation is a path or a session with a line. It is confirmed
//! if the line exists and contains a word of the citing sentence. All others are struck from the text.

mod checker;
mod citation;
mod context;
mod filter;
mod places;
mod sentence;
mod strike;
mod words;

pub(super) use checker::Grounding;
pub(super) use context::{CITE, USE, WORD, question, room};
pub(super) use filter::Filter;

#[cfg(test)]
mod turn_tests;
