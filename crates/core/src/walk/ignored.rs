//! Directories of generated or downloaded files.

use std::path::Path;

/// Skipped even without a `.gitignore`.
const DIRECTORIES: [&str; 16] = [
    "node_modules",
    "target",
    "build",
    "dist",
    "DerivedData",
    "venv",
    ".venv",
    "__pycache__",
    ".pytest_cache",
    ".tox",
    ".git",
    ".svn",
    ".hg",
    ".build",
    "Pods",
    "bower_components",
];

pub(crate) fn is_ignored_directory(path: &Path) -> bool {
    path.file_name().is_some_and(|name| DIRECTORIES.iter().any(|ignored| name == *ignored))
}
