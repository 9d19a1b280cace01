//! Checks whether git may track a file: searches its index without parsing it (gitformat-index(5)).

use super::worktree::{index_of, top_of};
use crate::file;
use std::{fs, path::Path};

/// Maximum bytes of git's index, which has about 100 per file.
const GIT_INDEX: u64 = 32 << 20;

/// Returns whether git may track a file whose path contains `part` (in lower case) in the repository around a
/// directory. False without a repository or an index; true if the index cannot be read, shortens its paths or keeps
/// them elsewhere.
pub fn may_track(directory: &Path, part: &str) -> bool {
    if top_of(directory).is_none() {
        return false;
    }
    let Some(index) = index_of(directory) else { return true };
    let beside = index.parent().and_then(|folder| fs::read_dir(folder).ok());
    let is_shared = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("sharedindex");
    if beside.is_none_or(|entries| entries.flatten().any(is_shared)) {
        return true;
    }
    match file::read_bounded(&index, GIT_INDEX) {
        // Version 4 stores only the difference of a path from the previous one.
        Some(bytes) if bytes.starts_with(b"DIRC\0\0\0\x02") || bytes.starts_with(b"DIRC\0\0\0\x03") => {
            memchr::memmem::find(&bytes.to_ascii_lowercase(), part.as_bytes()).is_some()
        }
        Some(_) => true,
        None => index.symlink_metadata().is_ok(),
    }
}
