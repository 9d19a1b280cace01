//! One directory, canonicalised once; everything that a tool touches lies inside it.

use std::path::{Path, PathBuf};

/// A directory that tools may read.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    name: String,
}

impl Workspace {
    /// Returns the canonical path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the last component of the path.
    pub fn name(&self) -> &str {
        &self.name
    }
}
