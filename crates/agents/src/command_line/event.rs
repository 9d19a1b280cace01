//! Events of both programs in a common form.

use crate::output::CallNews;
use openagents_core::update::Location;

#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most events are calls, and none is kept")]
pub(super) enum Event {
    /// The program's own id of the session.
    Session(String),
    /// A complete message.
    Message(String),
    /// A complete thought, if the program shows it.
    Thought(String),
    /// The start, the progress or the end of a tool call.
    Call(CallNews),
    /// The turn has completed.
    Done,
    /// The turn has failed, for this reason (a clause).
    Failed(String),
}

pub(super) fn location(path: &str) -> Location {
    Location { path: path.to_owned(), line: None }
}
