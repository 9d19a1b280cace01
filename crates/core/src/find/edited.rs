//! Files that were edited since the last commit or checkout: people ask about what they are working on.
//!
//! Git is not asked: it runs programs that a repository names (filters, a file system monitor). The times of the files
//! say nearly the same; what was edited before that commit and left out of it is missed.

use super::scan::Scan;
use crate::update::Finding;
use std::collections::HashSet;

/// How much more such a file counts; not tuned, the measure's projects have no repository around them.
const MORE: f32 = 0.1;

/// More files than a person edits between two commits: a program wrote them.
const BY_HAND: usize = 100;

/// The edited files among those that hold a word of the question.
#[derive(Debug, Default)]
pub(super) struct Edited(HashSet<String>);

impl Edited {
    pub(super) fn among(scan: &Scan) -> Self {
        if scan.written_since > BY_HAND {
            return Self::default();
        }
        let edited = scan.files.iter().filter(|file| file.is_written_since);
        Self(edited.map(|file| file.path.clone()).collect())
    }

    /// Returns the factor of a file's score.
    pub(super) fn boost(&self, path: &str) -> f32 {
        if self.0.contains(path) { 1.0 + MORE } else { 1.0 }
    }

    /// Says in the reason that the file was edited.
    pub(super) fn explain(&self, finding: &mut Finding) {
        if finding.path().is_some_and(|path| self.0.contains(path)) {
            finding.why.push_str("; written since the last commit or checkout");
        }
    }
}
