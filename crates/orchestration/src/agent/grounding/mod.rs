//! Grounds answers in findings: the model gets the findings, and when its answer has ended, each citation is opened.
//!
//! A citation is a path or a session with a line. It is confirmed if the line exists and contains a word of the citing
//! sentence. All others are named in a note below the answer.

mod checker;
mod citation;
mod context;
mod places;
mod sentence;
mod words;

pub(super) use checker::Grounding;
pub(super) use context::{CITE, USE, WORD, question, room};

#[cfg(test)]
mod turn_tests;
