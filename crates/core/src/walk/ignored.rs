//! Directories of generated or downloaded files.

use crate::text::is_listed;
use std::path::Path;

/// Skipped even without a `.gitignore`; separated by `|`.
const DIRECTORIES: &str = "\
    node_modules|target|build|dist|DerivedData|venv|.venv|__pycache__|.pytest_cache|.tox|.git|.svn|.hg|\
    .build|Pods|bower_components";

/// Returns whether a folder is skipped because of its name.
pub fn is_ignored_directory(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_listed(name, DIRECTORIES))
}
