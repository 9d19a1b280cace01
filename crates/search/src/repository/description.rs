//! A sentence that describes a repository.

use openagents_core::update::Evidence;

/// Characters of a sentence: two lines of a terminal.
pub(super) const SENTENCE: usize = 200;

/// A sentence with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// Plain text.
    pub text: String,
    /// Relative to the workspace.
    pub path: String,
    /// From 1.
    pub line: u64,
}

impl Description {
    /// Returns the location as evidence.
    pub fn evidence(&self) -> Evidence {
        Evidence::File { path: self.path.clone(), line: self.line, text: self.text.clone() }
    }
}
