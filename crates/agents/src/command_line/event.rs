//! Events of both programs in a common format.

use crate::output::CallNews;
use openagents_core::update::Location;

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most events are calls, and none is kept")]
pub(super) enum Event {
    /// The program's id for the session.
    Session(String),
    /// A complete message.
    Message(String),
    /// A complete thought, if the program shows it.
    Thought(String),
    /// The start, progress or end of a tool call.
    Call(CallNews),
    /// The turn has completed.
    Done,
    /// The turn has failed, for this reason (a clause).
    Failed(String),
}

pub(super) fn location(path: &str) -> Location {
    Location { path: path.to_owned(), line: None }
}
