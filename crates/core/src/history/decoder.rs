//! Turns the lines of a session into events.

use super::event::Event;
use std::path::PathBuf;

/// Decodes one session. May keep state between lines.
pub(crate) trait Decoder {
    /// Returns the events of a line; `None` if it is not a line of this format.
    fn line(&mut self, line: &str, number: u64) -> Option<Vec<Event>>;

    /// Returns facts about the session from the lines so far; none for formats with a summary of their own.
    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

/// Facts about a session, taken from its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SessionFacts {
    /// If it differs from the one in the file's name.
    pub(crate) id: Option<String>,
    /// Given outside of the lines.
    pub(crate) title: Option<String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) branch: Option<String>,
    /// The last one used.
    pub(crate) model: Option<String>,
    /// Milliseconds since the epoch; the first event's time if absent.
    pub(crate) created_at: Option<i64>,
    /// Milliseconds since the epoch; the file's time if absent.
    pub(crate) updated_at: Option<i64>,
    /// Of the lines so far.
    pub(crate) tokens: Option<u64>,
    /// As the agent itself last counted those of the whole session.
    pub(crate) total_tokens: Option<u64>,
    /// Started by another session.
    pub(crate) subagent: bool,
    /// Hidden in the agent's own list.
    pub(crate) hidden: bool,
}
