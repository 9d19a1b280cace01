//! Finds sessions: `session-state/<id>/events.jsonl`, and `session-state/<id>.jsonl` before 1.0. A folder without
//! events belongs to a session that was never prompted.

use super::workspace;
use crate::{history::log_file::LogFile, limits};
use openagents_core::budget::Budget;
use std::{fs, path::Path};

const EVENTS: &str = "events.jsonl";

pub(super) fn discover(root: &Path, budget: &Budget) -> Vec<LogFile> {
    let mut files = Vec::new();
    let Ok(entries) = fs::read_dir(root.join("session-state")) else { return files };
    for (at, entry) in entries.flatten().enumerate() {
        if (at + 1) % limits::ENTRIES_BETWEEN_LOOKS == 0 && budget.spent() {
            break;
        }
        let Ok(name) = entry.file_name().into_string() else { continue };
        files.extend(match name.strip_suffix(".jsonl") {
            Some(id) => LogFile::stat(entry.path(), id, false, false),
            None => session(&entry.path(), &name),
        });
    }
    files
}

fn session(folder: &Path, id: &str) -> Option<LogFile> {
    let mut file = LogFile::stat(folder.join(EVENTS), id, false, false)?;
    // A new title changes only the description.
    if let Some(described) = LogFile::stat(workspace::of(&file.path), id, false, false) {
        file.stamp.size += described.stamp.size;
        file.stamp.mtime_ns = file.stamp.mtime_ns.max(described.stamp.mtime_ns);
    }
    Some(file)
}
