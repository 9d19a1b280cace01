//! The text of a passage.

use super::kind::Kind;
use crate::history::{Event, TouchedFile};
use serde::{Deserialize, Serialize};

/// The text or the action in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct PassageText {
    pub(super) line: u64,
    pub(super) kind: Kind,
    pub(super) text: String,
    /// Files that it touched: their paths as logged, and whether each was changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) files: Vec<(String, bool)>,
}

impl PassageText {
    pub(super) fn new(line: u64, kind: Kind, text: &str, files: &[TouchedFile]) -> Self {
        let files = files.iter().map(|file| (file.path.clone(), file.edited)).collect();
        Self { line, kind, text: text.to_owned(), files }
    }

    pub(super) fn event(self) -> Event {
        Event::new(self.line, None, self.kind.event(), self.text)
    }
}
