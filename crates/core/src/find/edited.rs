//! Boosts files edited since the last commit or checkout: people ask about their current work.
//!
//! Git is not run, because it executes programs configured by a repository (filters, a file system monitor). File times
//! are nearly equivalent; edits made before the last commit but not committed are missed.

use super::scan::Scan;
use crate::update::Finding;
use std::collections::HashSet;

/// Boost of an edited file; not tuned, because the benchmark projects are not repositories.
const MORE: f32 = 0.1;

/// Maximum number of edited files; more were written by a program.
const BY_HAND: usize = 100;

/// The edited files that contain a word of the question.
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

    /// Returns the factor for a file's score.
    pub(super) fn boost(&self, path: &str) -> f32 {
        if self.0.contains(path) { 1.0 + MORE } else { 1.0 }
    }

    /// Adds the edit to a finding's reason.
    pub(super) fn explain(&self, finding: &mut Finding) {
        if finding.path().is_some_and(|path| self.0.contains(path)) {
            finding.why.push_str("; written since the last commit or checkout");
        }
    }
}
